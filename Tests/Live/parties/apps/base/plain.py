"""A code flow without a library for it, of an application that brings the verification of the ID token."""
import secrets

import requests
import setting
from flask import Flask, redirect, request


def flow(verify):
    metadata = requests.get(setting.METADATA).json()
    app, state, nonce, back = Flask("plain"), secrets.token_urlsafe(), secrets.token_urlsafe(), setting.URL + "/callback"

    @app.route("/")
    def login():
        return redirect(requests.Request("GET", metadata["authorization_endpoint"], params=dict(
            response_type="code", client_id=setting.ID, redirect_uri=back, scope=setting.SCOPE, state=state, nonce=nonce)).prepare().url)

    @app.route("/callback")
    def callback():
        assert request.args["state"] == state
        tokens = requests.post(metadata["token_endpoint"], auth=(setting.ID, setting.SECRET), data=dict(
            grant_type="authorization_code", code=request.args["code"], redirect_uri=back)).json()
        return setting.page(verify(tokens, metadata, requests.get(metadata["jwks_uri"]).json(), nonce))

    setting.wsgi(app)
