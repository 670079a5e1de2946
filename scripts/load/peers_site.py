"""The site in which scripts/peers measures django-oauth-toolkit: gunicorn serves `peers_site:application`; `peers_site.py USER…` makes its database
first. PEERS_FOLDER, PEERS_SECRET and PEERS_PASSWORD come from peers_django.py."""
import os, sqlite3, sys

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db.backends.signals import connection_created
from django.db.backends.sqlite3.base import DatabaseWrapper

FOLDER = os.environ["PEERS_FOLDER"]
settings.configure(
    DEBUG=False, SECRET_KEY=os.environ["PEERS_SECRET"], ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, USE_TZ=True,
    # CONN_MAX_AGE: without it, each request opens the file anew.
    DATABASES={"default": dict(ENGINE="django.db.backends.sqlite3", NAME=FOLDER + "/database", CONN_MAX_AGE=600, OPTIONS=dict(timeout=20))},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"],
    # As startproject writes it, without messages.
    MIDDLEWARE=["django.middleware.security.SecurityMiddleware", "django.contrib.sessions.middleware.SessionMiddleware",
                "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware", "django.middleware.clickjacking.XFrameOptionsMiddleware"],
    OAUTH2_PROVIDER=dict(SCOPES=dict(read="Read")))


def connected(connection, **_):
    # Each commit is on the disk when it is answered, as Handstamp's are.
    connection.cursor().execute("PRAGMA synchronous=FULL")


def begin(connection):
    # As transaction_mode of Django 5.1. With a plain BEGIN, one that reads first cannot wait for another that writes: at 32 connections, two of
    # three refreshes fail with "database is locked".
    connection.cursor().execute("BEGIN IMMEDIATE")


connection_created.connect(connected)
DatabaseWrapper._start_transaction_under_autocommit = begin
if __name__ != "__main__":
    # Before the addresses, because these import models.
    application = get_wsgi_application()
    from django.urls import include, path
    urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]
else:
    urlpatterns = []
    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from oauth2_provider.models import Application
    database = sqlite3.connect(FOLDER + "/database")
    # The file remembers it.
    database.execute("PRAGMA journal_mode=WAL")
    database.close()
    call_command("migrate", verbosity=0, interactive=False)
    for name in sys.argv[1:]:
        User.objects.create_user(name, password=os.environ["PEERS_PASSWORD"])
    for name, kind, flow in (("app", Application.CLIENT_PUBLIC, Application.GRANT_PASSWORD),
                             ("resource", Application.CLIENT_CONFIDENTIAL, Application.GRANT_CLIENT_CREDENTIALS)):
        Application.objects.create(name=name, client_id=name, client_secret=os.environ["PEERS_SECRET"], client_type=kind,
                                   authorization_grant_type=flow)
