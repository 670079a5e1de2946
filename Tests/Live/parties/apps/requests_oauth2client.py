"""https://guillp.github.io/requests_oauth2client/"""
import setting
from flask import Flask, redirect, request
from requests_oauth2client import OAuth2Client

client = OAuth2Client.from_discovery_endpoint(
    setting.METADATA, issuer=setting.ISSUER, client_id=setting.ID, client_secret=setting.SECRET, redirect_uri=setting.URL + "/callback", testing=True)
app, requests = Flask(__name__), {}


@app.route("/")
def login():
    wish = client.authorization_request(scope=setting.SCOPE)
    requests[wish.state] = wish
    return redirect(str(wish))


@app.route("/callback")
def callback():
    answer = requests[request.args["state"]].validate_callback(request.url)
    token = client.authorization_code(answer, validate=True)
    return setting.page(token.id_token.claims, client.userinfo(token))


setting.wsgi(app)
