"""django-oauth-toolkit with users and refresh tokens, on a port of its own. Prints its URL, and then answers lines of standard input:
`tokens` with one line of JSON for each refresh token that works, `alive` with their number. Exits when standard input closes."""
import json, sys, tempfile, threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from django.conf import settings

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 40
folder = tempfile.TemporaryDirectory()
settings.configure(
    DEBUG=False, SECRET_KEY="x" * 50, ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder.name + "/db.sqlite3"}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    OAUTH2_PROVIDER={"REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 120, "SCOPES": {"read": "read", "introspection": "introspect"}})
django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import include, path
from django.utils import timezone
from datetime import timedelta
from oauth2_provider.models import AccessToken, Application, RefreshToken

urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]


class Handler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


call_command("migrate", verbosity=0)
owner = User.objects.create_user("owner")
application = Application.objects.create(
    name="app", user=owner, client_id="app", client_secret="s3cret", client_type=Application.CLIENT_CONFIDENTIAL,
    authorization_grant_type=Application.GRANT_PASSWORD)
for number in range(COUNT):
    user = User.objects.create_user(f"user-{number}")
    access = AccessToken.objects.create(
        user=user, application=application, token=f"a-{number}", scope="read introspection",
        expires=timezone.now() + timedelta(hours=1))
    RefreshToken.objects.create(user=user, application=application, token=f"r-{number}", access_token=access)

server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
for line in sys.stdin:
    live = RefreshToken.objects.filter(revoked=None)
    if line.strip() == "tokens":
        for token in live:
            print(json.dumps({"account": token.user.username, "token": token.token}), flush=True)
        print("", flush=True)
    else:
        print(live.count(), flush=True)
