"""https://flask-oidc.readthedocs.io/en/latest/"""
import json

import setting
from flask import Flask, g, session
from flask_oidc import OpenIDConnect

with open(setting.FOLDER + "/client_secrets.json", "w") as file:
    json.dump(dict(web=dict(client_id=setting.ID, client_secret=setting.SECRET, issuer=setting.ISSUER)), file)
app = Flask(__name__)
app.config.update(
    SECRET_KEY="only for this test", OIDC_CLIENT_SECRETS=setting.FOLDER + "/client_secrets.json",
    OIDC_SERVER_METADATA_URL=setting.METADATA, OIDC_SCOPES=setting.SCOPE)
oidc = OpenIDConnect(app)


@app.route("/")
@oidc.require_login
def index():
    return setting.page(g.oidc_user.name, g.oidc_user.email, session["oidc_auth_profile"])


setting.wsgi(app)
