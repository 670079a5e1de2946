"""https://flask-pyoidc.readthedocs.io/en/latest/"""
import flask
import setting
from flask_pyoidc import OIDCAuthentication
from flask_pyoidc.provider_configuration import ClientMetadata, ProviderConfiguration
from flask_pyoidc.user_session import UserSession

provider = ProviderConfiguration(
    issuer=setting.ISSUER, client_metadata=ClientMetadata(client_id=setting.ID, client_secret=setting.SECRET),
    auth_request_params={"scope": setting.SCOPE.split()})
app = flask.Flask(__name__)
app.config.update(SECRET_KEY="only for this test", OIDC_REDIRECT_URI=setting.URL + "/redirect_uri")
auth = OIDCAuthentication({"default": provider}, app)


@app.route("/")
@auth.oidc_auth("default")
def index():
    session = UserSession(flask.session)
    return setting.page(session.id_token, session.userinfo)


setting.wsgi(app)
