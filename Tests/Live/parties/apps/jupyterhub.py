"""https://oauthenticator.readthedocs.io/en/latest/tutorials/provider-specific-setup/providers/generic.html: a configuration of JupyterHub. The hub is
asked directly; a proxy, which needs Node, would stand before it."""
import os

from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    should_start = False

    async def add_route(self, routespec, target, data):
        pass

    async def delete_route(self, routespec):
        pass

    async def get_all_routes(self):
        return {}

    async def check_routes(self, *_, **__):
        pass


issuer, url, folder = (os.environ["PARTY_" + name] for name in ("ISSUER", "URL", "FOLDER"))
c = get_config()  # noqa: F821, given by JupyterHub
c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.hub_bind_url = url
c.JupyterHub.bind_url = "http://127.0.0.1:9"
c.JupyterHub.db_url = f"sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = folder + "/cookie_secret"
c.JupyterHub.redirect_to_server = False
c.JupyterHub.authenticator_class = "generic-oauth"
c.GenericOAuthenticator.client_id = os.environ["PARTY_ID"]
c.GenericOAuthenticator.client_secret = os.environ["PARTY_SECRET"]
c.GenericOAuthenticator.oauth_callback_url = url + "/hub/oauth_callback"
c.GenericOAuthenticator.authorize_url = issuer + "/oauth/authorize"
c.GenericOAuthenticator.token_url = issuer + "/oauth/token"
c.GenericOAuthenticator.userdata_url = issuer + "/oauth/userinfo"
c.GenericOAuthenticator.scope = ["openid", "profile", "email"]
c.GenericOAuthenticator.username_claim = "email"
c.GenericOAuthenticator.allow_all = True
# The page itself, not its spawner.
c.JupyterHub.spawner_class = "simple"
