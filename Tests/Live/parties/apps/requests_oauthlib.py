"""https://requests-oauthlib.readthedocs.io/en/latest/examples/real_world_example.html"""
import setting
from flask import Flask, redirect, request, session
from requests_oauthlib import OAuth2Session

app = Flask(__name__)
app.secret_key = "only for this test"


@app.route("/")
def login():
    client = OAuth2Session(setting.ID, redirect_uri=setting.URL + "/callback", scope=setting.SCOPE.split())
    url, session["state"] = client.authorization_url(setting.ISSUER + "/oauth/authorize")
    return redirect(url)


@app.route("/callback")
def callback():
    client = OAuth2Session(setting.ID, state=session["state"], redirect_uri=setting.URL + "/callback")
    client.fetch_token(setting.ISSUER + "/oauth/token", client_secret=setting.SECRET, authorization_response=request.url)
    return setting.page(client.get(setting.ISSUER + "/oauth/userinfo").json())


setting.wsgi(app)
