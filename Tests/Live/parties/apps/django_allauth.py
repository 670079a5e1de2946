"""https://docs.allauth.org/en/latest/socialaccount/providers/openid_connect.html"""
import setting
from django.http import HttpResponse


def show(request):
    account = request.user.socialaccount_set.get()
    return HttpResponse(setting.page(request.user.email, account.uid, account.extra_data))


setting.django(
    show, "/accounts/oidc/handstamp/login/", "allauth", "allauth.account", "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect", urls=[("accounts/", "allauth.urls")],
    middleware=["allauth.account.middleware.AccountMiddleware"],
    AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
    # Without a page in between.
    SOCIALACCOUNT_LOGIN_ON_GET=True, ACCOUNT_EMAIL_VERIFICATION="none",
    SOCIALACCOUNT_PROVIDERS=dict(openid_connect=dict(APPS=[dict(
        provider_id="handstamp", name="Handstamp", client_id=setting.ID, secret=setting.SECRET,
        settings=dict(server_url=setting.ISSUER))])))
