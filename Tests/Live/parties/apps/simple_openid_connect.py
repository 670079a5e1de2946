"""https://simple-openid-connect.readthedocs.io/en/stable/"""
import setting
from flask import request
from simple_openid_connect.client import OpenidClient

client = OpenidClient.from_issuer_url(
    url=setting.ISSUER, authentication_redirect_uri=setting.URL + "/callback", client_id=setting.ID, client_secret=setting.SECRET,
    scope=setting.SCOPE)


def callback():
    token = client.authorization_code_flow.handle_authentication_result(request.url)
    claims = client.decode_id_token(token.id_token)
    return setting.page(claims.model_dump(exclude_none=True), client.fetch_userinfo(token.access_token).model_dump(exclude_none=True))


setting.flask(client.authorization_code_flow.start_authentication, callback)
