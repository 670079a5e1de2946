"""https://python-social-auth.readthedocs.io/en/latest/backends/oidc.html"""
import setting

setting.django(
    setting.user, "/login/oidc/", "social_django", urls=[("", "social_django.urls")],
    AUTHENTICATION_BACKENDS=["social_core.backends.open_id_connect.OpenIdConnectAuth"],
    SOCIAL_AUTH_OIDC_OIDC_ENDPOINT=setting.ISSUER, SOCIAL_AUTH_OIDC_KEY=setting.ID, SOCIAL_AUTH_OIDC_SECRET=setting.SECRET)
