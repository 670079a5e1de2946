"""https://requests-oauthlib.readthedocs.io/en/latest/examples/real_world_example.html"""
import setting
from flask import request, session
from requests_oauthlib import OAuth2Session


def login():
    client = OAuth2Session(setting.ID, redirect_uri=setting.URL + "/callback", scope=setting.SCOPE.split())
    url, session["state"] = client.authorization_url(setting.ISSUER + "/oauth/authorize")
    return url


def callback():
    client = OAuth2Session(setting.ID, state=session["state"], redirect_uri=setting.URL + "/callback")
    client.fetch_token(setting.ISSUER + "/oauth/token", client_secret=setting.SECRET, authorization_response=request.url)
    return setting.page(client.get(setting.ISSUER + "/oauth/userinfo").json())


setting.flask(login, callback)
