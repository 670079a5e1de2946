"""https://oauthenticator.readthedocs.io/en/latest/tutorials/provider-specific-setup/providers/generic.html: a configuration of JupyterHub. The hub is
asked directly; a proxy, which needs Node, would stand before it."""
import os

from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    should_start = False

    async def has_none(self, *_, **__):
        return {}

    add_route = delete_route = get_all_routes = check_routes = has_none


issuer, url, folder = (os.environ["PARTY_" + name] for name in ("ISSUER", "URL", "FOLDER"))
c = get_config()  # noqa: F821, given by JupyterHub
# The page itself, not its spawner.
c.JupyterHub.update(
    proxy_class=NoProxy, hub_bind_url=url, bind_url="http://127.0.0.1:9", db_url=f"sqlite:///{folder}/hub.sqlite", redirect_to_server=False,
    cookie_secret_file=folder + "/cookie_secret", authenticator_class="generic-oauth", spawner_class="simple")
c.GenericOAuthenticator.update(
    client_id=os.environ["PARTY_ID"], client_secret=os.environ["PARTY_SECRET"], oauth_callback_url=url + "/hub/oauth_callback",
    authorize_url=issuer + "/oauth/authorize", token_url=issuer + "/oauth/token", userdata_url=issuer + "/oauth/userinfo",
    scope=["openid", "profile", "email"], username_claim="email", allow_all=True)
