"""https://mozilla-django-oidc.readthedocs.io/en/stable/installation.html"""
import setting

setting.django(
    setting.user, "oidc_authentication_init", "mozilla_django_oidc", urls=[("oidc/", "mozilla_django_oidc.urls")],
    AUTHENTICATION_BACKENDS=["mozilla_django_oidc.auth.OIDCAuthenticationBackend"],
    OIDC_RP_CLIENT_ID=setting.ID, OIDC_RP_CLIENT_SECRET=setting.SECRET,
    # The default is HS256; the page of the documentation names this one for all providers with a JWKS endpoint.
    OIDC_RP_SIGN_ALGO="RS256", OIDC_OP_JWKS_ENDPOINT=setting.ISSUER + "/.well-known/jwks.json",
    OIDC_OP_AUTHORIZATION_ENDPOINT=setting.ISSUER + "/oauth/authorize", OIDC_OP_TOKEN_ENDPOINT=setting.ISSUER + "/oauth/token",
    OIDC_OP_USER_ENDPOINT=setting.ISSUER + "/oauth/userinfo")
