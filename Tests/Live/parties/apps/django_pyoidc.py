"""https://django-pyoidc.readthedocs.io/latest/tutorial.html"""
import setting


def urls():
    from django.urls import include, path
    from django_pyoidc.helper import OIDCHelper
    return [path("auth/", include((OIDCHelper(op_name="sso").get_urlpatterns(), "django_pyoidc"), namespace="auth"))]


setting.django(
    setting.user, "/auth/sso-login", "django_pyoidc", urls=urls,
    CACHES=dict(default=dict(BACKEND="django.core.cache.backends.locmem.LocMemCache")),
    DJANGO_PYOIDC=dict(sso=dict(
        client_id=setting.ID, client_secret=setting.SECRET, provider_discovery_uri=setting.ISSUER, scopes=setting.SCOPE.split(),
        login_redirection_requires_https=False, callback_uri_name="auth:sso-callback", login_uris_redirect_allowed_hosts=["127.0.0.1"],
        post_login_uri_success="/")))
