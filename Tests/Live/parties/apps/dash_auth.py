"""https://github.com/plotly/dash-auth: OIDCAuth"""
import setting
from dash import Dash, html
from dash_auth import OIDCAuth
from flask import has_request_context, session

app = Dash(__name__)
app.layout = lambda: html.Div(setting.page(session.get("user")) if has_request_context() else "")
auth = OIDCAuth(app, secret_key="only for this test")
auth.register_provider(
    "handstamp", client_id=setting.ID, client_secret=setting.SECRET, server_metadata_url=setting.METADATA,
    client_kwargs={"scope": setting.SCOPE})
setting.wsgi(app.server)
