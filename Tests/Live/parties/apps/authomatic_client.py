"""https://authomatic.github.io/authomatic/examples/flask-simple.html, with a provider of one's own"""
import setting
from authomatic import Authomatic
from authomatic.adapters import WerkzeugAdapter
from authomatic.core import User
from authomatic.providers.oauth2 import OAuth2
from flask import Flask, make_response, request


class Handstamp(OAuth2):
    user_authorization_url, access_token_url = setting.ISSUER + "/oauth/authorize", setting.ISSUER + "/oauth/token"
    user_info_url = setting.ISSUER + "/oauth/userinfo"
    user_info_scope = setting.SCOPE.split()

    def _x_scope_parser(self, scope):
        return " ".join(scope)

    @staticmethod
    def _x_user_parser(user, data):
        user.id, user.name, user.email = data["sub"], data["name"], data["email"]
        return user


# The module of a provider has to number its providers.
PROVIDER_ID_MAP = [OAuth2, Handstamp]
app = Flask(__name__)
authomatic = Authomatic(dict(handstamp=dict(
    class_=Handstamp, consumer_key=setting.ID, consumer_secret=setting.SECRET, scope=Handstamp.user_info_scope)), "only for this test")


@app.route("/")
def login():
    response = make_response()
    result = authomatic.login(WerkzeugAdapter(request, response), "handstamp")
    if result:
        if result.user:
            result.user.update()
            return setting.page(result.user.id, result.user.name, result.user.email)
        return setting.page(result.error)
    return response


setting.wsgi(app)
