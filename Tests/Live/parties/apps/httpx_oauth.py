"""https://frankie567.github.io/httpx-oauth/usage/"""
import setting
from fastapi import Depends, FastAPI
from fastapi.responses import PlainTextResponse, RedirectResponse
from httpx_oauth.clients.openid import OpenID
from httpx_oauth.integrations.fastapi import OAuth2AuthorizeCallback

client = OpenID(setting.ID, setting.SECRET, setting.METADATA)
callback = OAuth2AuthorizeCallback(client, "callback")
app = FastAPI()


@app.get("/")
async def login():
    return RedirectResponse(await client.get_authorization_url(setting.URL + "/callback"))


@app.get("/callback", name="callback")
async def back(answer=Depends(callback)):
    token, _ = answer
    return PlainTextResponse(setting.page(await client.get_id_email(token["access_token"])))


setting.asgi(app)
