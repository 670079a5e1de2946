"""https://flask-multipass.readthedocs.io/en/latest/quickstart.html, with its provider for Authlib"""
import setting
from flask import Flask
from flask_multipass import Multipass

app = Flask(__name__)
app.config.update(
    SECRET_KEY="only for this test",
    MULTIPASS_AUTH_PROVIDERS=dict(handstamp=dict(type="authlib", title="Handstamp", authlib_args=dict(
        client_id=setting.ID, client_secret=setting.SECRET, server_metadata_url=setting.METADATA, client_kwargs={"scope": setting.SCOPE}))),
    MULTIPASS_IDENTITY_PROVIDERS=dict(handstamp=dict(type="authlib", title="Handstamp", identifier_field="sub")),
    MULTIPASS_PROVIDER_MAP=dict(handstamp="handstamp"), MULTIPASS_LOGIN_URLS=["/login/", "/login/<provider>"], MULTIPASS_SUCCESS_ENDPOINT="index")
multipass, people = Multipass(app), []


@multipass.identity_handler
def known(identity):
    people.append(identity)


@app.route("/")
def index():
    if not people:
        return app.login_manager if False else multipass.process_login()
    return setting.page(people[0].identifier, people[0].data)


setting.wsgi(app)
