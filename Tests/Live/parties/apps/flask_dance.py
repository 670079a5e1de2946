"""https://flask-dance.readthedocs.io/en/latest/providers.html#custom"""
import setting
from flask import Flask, redirect, url_for
from flask_dance.consumer import OAuth2ConsumerBlueprint

app = Flask(__name__)
app.secret_key = "only for this test"
handstamp = OAuth2ConsumerBlueprint(
    "handstamp", __name__, client_id=setting.ID, client_secret=setting.SECRET, scope=setting.SCOPE, base_url=setting.ISSUER,
    token_url=setting.ISSUER + "/oauth/token", authorization_url=setting.ISSUER + "/oauth/authorize")
app.register_blueprint(handstamp, url_prefix="/login")


@app.route("/")
def index():
    if not handstamp.session.authorized:
        return redirect(url_for("handstamp.login"))
    return setting.page(handstamp.session.get("/oauth/userinfo").json())


setting.wsgi(app)
