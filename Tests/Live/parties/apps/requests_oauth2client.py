"""https://guillp.github.io/requests_oauth2client/"""
import setting
from flask import request
from requests_oauth2client import OAuth2Client

client = OAuth2Client.from_discovery_endpoint(
    setting.METADATA, issuer=setting.ISSUER, client_id=setting.ID, client_secret=setting.SECRET, redirect_uri=setting.URL + "/callback", testing=True)
requests = {}


def login():
    wish = client.authorization_request(scope=setting.SCOPE)
    requests[wish.state] = wish
    return str(wish)


def callback():
    answer = requests[request.args["state"]].validate_callback(request.url)
    token = client.authorization_code(answer, validate=True)
    return setting.page(token.id_token.claims, client.userinfo(token))


setting.flask(login, callback)
