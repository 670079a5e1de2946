"""https://idpy-oidc.readthedocs.io/en/latest/client/rp_handler.html"""
import setting
from flask import request
from idpyoidc.client.rp_handler import RPHandler

handler = RPHandler(base_url=setting.URL, client_configs=dict(handstamp=dict(
    issuer=setting.ISSUER, client_id=setting.ID, client_secret=setting.SECRET, redirect_uris=[setting.URL + "/callback"], client_type="oidc",
    services=dict(
        discovery={"class": "idpyoidc.client.oidc.provider_info_discovery.ProviderInfoDiscovery"},
        authorization={"class": "idpyoidc.client.oidc.authorization.Authorization"},
        accesstoken={"class": "idpyoidc.client.oidc.access_token.AccessToken"},
        userinfo={"class": "idpyoidc.client.oidc.userinfo.UserInfo"}))))


def login():
    return handler.begin("handstamp", req_args=dict(scope=setting.SCOPE.split()))


def callback():
    done = handler.finalize(setting.ISSUER, request.args.to_dict())
    return setting.page(done["userinfo"].to_dict(), done["id_token"].to_dict())


setting.flask(login, callback)
