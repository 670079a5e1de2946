"""https://docs.authlib.org/en/latest/client/django.html"""
import setting
from authlib.integrations.django_client import OAuth
from django.http import HttpResponse
from django.urls import path

oauth = OAuth()


def login(request):
    return oauth.handstamp.authorize_redirect(request, setting.URL + "/callback")


def callback(request):
    return HttpResponse(setting.page(oauth.handstamp.authorize_access_token(request)["userinfo"]))


def urls():
    oauth.register("handstamp")
    return [path("callback", callback)]


setting.django(login, None, urls=urls, AUTHLIB_OAUTH_CLIENTS=dict(handstamp=dict(
    client_id=setting.ID, client_secret=setting.SECRET, server_metadata_url=setting.METADATA, client_kwargs={"scope": setting.SCOPE})))
