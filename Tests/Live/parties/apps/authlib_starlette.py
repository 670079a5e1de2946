"""https://docs.authlib.org/en/latest/client/starlette.html"""
import setting
from authlib.integrations.starlette_client import OAuth
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route

oauth = OAuth()
oauth.register(
    "handstamp", client_id=setting.ID, client_secret=setting.SECRET, server_metadata_url=setting.METADATA,
    client_kwargs={"scope": setting.SCOPE})


async def login(request):
    return await oauth.handstamp.authorize_redirect(request, request.url_for("callback"))


async def callback(request):
    token = await oauth.handstamp.authorize_access_token(request)
    return PlainTextResponse(setting.page(token["userinfo"]))


setting.asgi(Starlette(
    routes=[Route("/", login), Route("/callback", callback)],
    middleware=[Middleware(SessionMiddleware, secret_key="only for this test")]))
