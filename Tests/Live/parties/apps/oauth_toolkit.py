"""https://django-oauth-toolkit.readthedocs.io/en/latest/resource_server.html: an API that accepts an access token by introspection"""
import setting
from django.http import HttpResponse


def about(request):
    from oauth2_provider.decorators import protected_resource

    @protected_resource(scopes=["openid"])
    def inner(request):
        return HttpResponse(setting.page(str(request.resource_owner), request.resource_owner.get_username()))

    return inner(request)


setting.django(
    lambda request: None, None, "oauth2_provider", urls=[("about", about)],
    OAUTH2_PROVIDER=dict(
        RESOURCE_SERVER_INTROSPECTION_URL=setting.ISSUER + "/oauth/introspect",
        RESOURCE_SERVER_INTROSPECTION_CREDENTIALS=(setting.ID, setting.SECRET), SCOPES=dict(openid="", profile="", email="")))
