"""What an application is told by its surroundings, how it is served, and the page that shows who is signed in."""
import json, os
from urllib.parse import urlsplit

ISSUER, ID, SECRET, URL, FOLDER = (os.environ["PARTY_" + name] for name in ("ISSUER", "ID", "SECRET", "URL", "FOLDER"))
METADATA = ISSUER + "/.well-known/openid-configuration"
SCOPE = "openid profile email"
PORT = urlsplit(URL).port
# The application and the server are on loopback, without TLS.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"


def page(*facts):
    """What the library says about the person, as text."""
    return "signed in: " + json.dumps(facts, default=str)


def wsgi(app):
    from werkzeug.serving import run_simple
    run_simple("127.0.0.1", PORT, app, threaded=True)


def flask(login, callback):
    """Serves an application whose / leads to the address of `login`; `callback` is the page that the browser comes back to."""
    from flask import Flask, redirect
    app = Flask("application")
    app.secret_key = "only for this test"
    app.add_url_rule("/", "login", lambda: redirect(login()))
    app.add_url_rule("/callback", "callback", callback)
    wsgi(app)


def asgi(app):
    import uvicorn
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")


def django(view, login, *apps, middleware=(), urls=(), **settings):
    """Serves a Django project with a view at / for those who are signed in; others go to `login`."""
    import django
    from django.conf import settings as chosen
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application
    chosen.configure(
        SECRET_KEY="only for this test", ALLOWED_HOSTS=["*"], DEBUG=True, ROOT_URLCONF="urls", LOGIN_URL=login, LOGIN_REDIRECT_URL="/",
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages", *apps],
        MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.common.CommonMiddleware",
                    "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware", *middleware],
        TEMPLATES=[dict(BACKEND="django.template.backends.django.DjangoTemplates", APP_DIRS=True, OPTIONS=dict(context_processors=[
            "django.template.context_processors.request", "django.contrib.auth.context_processors.auth"]))],
        DATABASES=dict(default=dict(ENGINE="django.db.backends.sqlite3", NAME=FOLDER + "/db")), USE_TZ=True, **settings)
    django.setup()
    import sys, types
    from django.contrib.auth.decorators import login_required
    from django.urls import include, path
    root = types.ModuleType("urls")
    root.urlpatterns = [path("", login_required(view) if login else view)]
    root.urlpatterns += [path(where, include(what) if isinstance(what, str) else what) for where, what in urls]
    sys.modules["urls"] = root
    call_command("migrate", verbosity=0, run_syncdb=True)
    wsgi(get_wsgi_application())


def user(request):
    """A view: the user as Django has it."""
    from django.http import HttpResponse
    person = request.user
    return HttpResponse(page(person.get_full_name(), person.email, person.get_username()))
