"""https://pyoidc.readthedocs.io/en/latest/examples/rp.html"""
import setting
from flask import request
from oic import rndstr
from oic.oic import Client
from oic.oic.message import AuthorizationResponse, RegistrationResponse
from oic.utils.authn.client import CLIENT_AUTHN_METHOD

client = Client(client_authn_method=CLIENT_AUTHN_METHOD)
client.provider_config(setting.ISSUER)
client.store_registration_info(RegistrationResponse(client_id=setting.ID, client_secret=setting.SECRET))
client.redirect_uris = [setting.URL + "/callback"]
state, nonce = rndstr(), rndstr()


def login():
    wish = client.construct_AuthorizationRequest(request_args=dict(
        client_id=client.client_id, response_type="code", scope=setting.SCOPE.split(), nonce=nonce, redirect_uri=client.redirect_uris[0], state=state))
    return wish.request(client.authorization_endpoint)


def callback():
    answer = client.parse_response(AuthorizationResponse, info=request.query_string.decode(), sformat="urlencoded")
    assert answer["state"] == state
    tokens = client.do_access_token_request(
        state=state, request_args=dict(code=answer["code"]), authn_method="client_secret_basic")
    return setting.page(tokens["id_token"].to_dict(), client.do_user_info_request(state=state).to_dict())


setting.flask(login, callback)
