"""https://pypi.org/project/django-oauth2-authcodeflow/"""
import setting

setting.django(
    setting.user, "oidc_authentication", "oauth2_authcodeflow", urls=[("oidc/", "oauth2_authcodeflow.urls")],
    AUTHENTICATION_BACKENDS=["oauth2_authcodeflow.auth.AuthenticationBackend"],
    OIDC_OP_DISCOVERY_DOCUMENT_URL=setting.METADATA, OIDC_RP_CLIENT_ID=setting.ID, OIDC_RP_CLIENT_SECRET=setting.SECRET)
