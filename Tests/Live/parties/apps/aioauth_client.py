"""https://github.com/klen/aioauth-client, with a provider of one's own"""
import setting
from aioauth_client import OAuth2Client
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Route


class Handstamp(OAuth2Client):
    name = "handstamp"
    authorize_url, access_token_url = setting.ISSUER + "/oauth/authorize", setting.ISSUER + "/oauth/token"
    user_info_url = setting.ISSUER + "/oauth/userinfo"
    base_url = setting.ISSUER


def client(**more):
    return Handstamp(client_id=setting.ID, client_secret=setting.SECRET, **more)


async def login(request):
    return RedirectResponse(client().get_authorize_url(scope=setting.SCOPE, redirect_uri=setting.URL + "/callback", state="s1"))


async def callback(request):
    one = client()
    await one.get_access_token(request.query_params["code"], redirect_uri=setting.URL + "/callback")
    return PlainTextResponse(setting.page(await one.request("GET", one.user_info_url)))


setting.asgi(Starlette(routes=[Route("/", login), Route("/callback", callback)]))
