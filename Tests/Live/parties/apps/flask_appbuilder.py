"""https://flask-appbuilder.readthedocs.io/en/latest/security.html#authentication-oauth: what Superset and Airflow sign people in with"""
import setting
from flask import Flask, g, redirect
from flask_appbuilder import AppBuilder, expose
from flask_appbuilder.const import AUTH_OAUTH
from flask_appbuilder.models.sqla.base import SQLA
from flask_appbuilder.security.sqla.manager import SecurityManager
from flask_appbuilder.views import IndexView


class Manager(SecurityManager):
    """Tells of a person what the provider says, as the documentation shows it."""
    def oauth_user_info(self, provider, response=None):
        about = self.appbuilder.sm.oauth_remotes[provider].get("/oauth/userinfo").json()
        return dict(username=about["preferred_username"], first_name=about["name"], last_name="", email=about["email"])


class Index(IndexView):
    @expose("/")
    def index(self):
        if g.user.is_anonymous:
            return redirect("/login/handstamp")
        return setting.page(g.user.username, g.user.first_name, g.user.email)


app = Flask(__name__)
app.config.update(
    SECRET_KEY="only for this test, which is long enough", SQLALCHEMY_DATABASE_URI=f"sqlite:///{setting.FOLDER}/db", AUTH_TYPE=AUTH_OAUTH,
    AUTH_USER_REGISTRATION=True, AUTH_USER_REGISTRATION_ROLE="Public",
    OAUTH_PROVIDERS=[dict(name="handstamp", icon="fa-key", token_key="access_token", remote_app=dict(
        client_id=setting.ID, client_secret=setting.SECRET, server_metadata_url=setting.METADATA, api_base_url=setting.ISSUER,
        client_kwargs={"scope": setting.SCOPE}))])
db = SQLA(app)
with app.app_context():
    AppBuilder(app, db.session, security_manager_class=Manager, indexview=Index)
setting.wsgi(app)
