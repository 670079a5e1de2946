"""https://github.com/ByteInternet/drf-oidc-auth: an API that accepts an access token by asking for the person's claims, and an ID token by its signature"""
import setting


def user(request, claims):
    from django.contrib.auth import get_user_model
    person, _ = get_user_model().objects.get_or_create(username=claims["sub"], email=claims.get("email", ""))
    return person


def urls():
    from django.urls import path
    from oidc_auth.authentication import BearerTokenAuthentication, JSONWebTokenAuthentication
    from rest_framework.permissions import IsAuthenticated
    from rest_framework.response import Response
    from rest_framework.views import APIView

    class About(APIView):
        authentication_classes = [JSONWebTokenAuthentication, BearerTokenAuthentication]
        permission_classes = [IsAuthenticated]

        def get(self, request):
            return Response(dict(text=setting.page(request.user.username, request.user.email, request.auth)))

    return [path("about", About.as_view())]


setting.django(
    lambda request: None, None, "rest_framework", "oidc_auth", urls=urls, OIDC_AUTH=dict(
        OIDC_ENDPOINT=setting.ISSUER, OIDC_CLAIMS_OPTIONS=dict(aud=dict(values=["caller"], essential=True)), OIDC_RESOLVE_USER_FUNCTION=user))
