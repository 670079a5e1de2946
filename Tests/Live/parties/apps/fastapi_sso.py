"""https://tomasvotava.github.io/fastapi-sso/how-to-guides/additional-scopes/ and its generic provider"""
import httpx
import setting
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from fastapi_sso.sso.base import OpenID
from fastapi_sso.sso.generic import create_provider

metadata = httpx.get(setting.METADATA).json()


def convert(response, session):
    return OpenID(id=response["sub"], email=response["email"], display_name=response["name"], provider="handstamp")


sso = create_provider(name="handstamp", default_scope=setting.SCOPE.split(), discovery_document=metadata, response_convertor=convert)(
    client_id=setting.ID, client_secret=setting.SECRET, redirect_uri=setting.URL + "/callback", allow_insecure_http=True)
app = FastAPI()


@app.get("/")
async def login():
    async with sso:
        return await sso.get_login_redirect()


@app.get("/callback")
async def callback(request: Request):
    async with sso:
        person = await sso.verify_and_process(request)
    return PlainTextResponse(setting.page(person.model_dump()))


setting.asgi(app)
