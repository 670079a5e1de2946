"""https://docs.authlib.org/en/latest/client/flask.html"""
import setting
from authlib.integrations.flask_client import OAuth
from flask import Flask, url_for

app = Flask(__name__)
app.secret_key = "only for this test"
oauth = OAuth(app)
oauth.register(
    "handstamp", client_id=setting.ID, client_secret=setting.SECRET, server_metadata_url=setting.METADATA,
    client_kwargs={"scope": setting.SCOPE})


@app.route("/")
def login():
    return oauth.handstamp.authorize_redirect(url_for("callback", _external=True))


@app.route("/callback")
def callback():
    return setting.page(oauth.handstamp.authorize_access_token()["userinfo"])


setting.wsgi(app)
