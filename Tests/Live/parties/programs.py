"""The programs of others that sign a person in, one entry each; docs/openid.md has the same table."""
import base64, json, os, shutil, sqlite3, sys, urllib.parse

from kit.pypi import cache, interpreter
from parties.mailbox import MAIL, Dovecot
from parties.program import APPS, Program
from parties.provider import EMAIL
from parties.resource import Mailbox, Resource, apache

# Of each virtual environment, the packages and their versions; what they need comes along in whichever version they ask for.
LIBRARIES = ("libraries", """
    flask==3.1.3 django==5.2.19 fastapi==0.165.0 uvicorn requests authlib==1.9.10 mozilla-django-oidc==5.0.2 django-allauth[socialaccount]==65.21.1
    social-auth-app-django==8.0.0 social-auth-core==7.0.0 requests-oauthlib==2.0.0 httpx-oauth==0.17.0 requests-oauth2client==1.8.0
    simple-openid-connect==2.5.0""")
MORE = ("more-libraries", """
    flask==3.1.3 django==5.2.19 starlette uvicorn requests oic==1.7.0 idpyoidc==5.0.0 django-oauth2-authcodeflow==1.4.1 aioauth-client==0.30.1
    django-oauth-toolkit==3.4.1""")
HUB = ("jupyterhub", "jupyterhub==6.1.1 oauthenticator==17.4.0")
DATA = ("data-apps", "panel==1.9.4 requests kinto==26.5.0 waitress")
RUBY = "ruby ruby-sinatra ruby-webrick "


def python(environment, app):
    """Without the folder of the application: its name may be that of the library."""
    return lambda port, folder: [interpreter(*environment), "-P", f"{APPS}/{app}.py"]


def tool(environment, program, *arguments):
    """A command of a virtual environment."""
    def command(port, folder):
        python = interpreter(*environment)
        return [python, f"{os.path.dirname(python)}/{program}", *[argument.format(port=port, apps=APPS) for argument in arguments]]
    return command


def script(*command):
    """A command whose last word is an application."""
    return lambda port, folder: [*command[:-1], f"{APPS}/{command[-1]}"]


def library(app, version, options, environment=LIBRARIES, **more):
    return Program(app, version, options, python(environment, app), **more)


def debian(name, version, options, command, packages, **more):
    return Program(name, version + " (Debian 12)", options, command, debian=packages.split(), **more)


def press(person, url):
    """Presses a button that leads to the sign-in."""
    return person.go_on(person.open(url + "login/oidc/", method="POST", fields={}))


def kinto(person, url):
    """The tokens come back in the address; the API knows the person by the access token."""
    done = "http://127.0.0.1:9/done#token="
    page = person.pass_through(url + "?" + urllib.parse.urlencode(dict(callback=done, scope="openid email profile")), until=done)
    token = json.loads(base64.b64decode(urllib.parse.unquote(page.url.removeprefix(done))))
    return person.load("GET", url.split("/v1")[0] + "/v1/", headers={"Authorization": "Bearer " + token.get("access_token", "")})


class Mail(Dovecot):
    """The IMAP server behind Roundcube, and Roundcube's folder."""
    def __init__(self, provider, folder):
        super().__init__(folder, "introspection_mode = auth", f"introspection_url = {provider.issuer}/oauth/userinfo", "username_attribute = email")
        self.environment = dict(PARTY_IMAP=str(self.port), ROUNDCUBE_CONFIG_DIR=folder)
        shutil.copy("/etc/roundcube/defaults.inc.php", folder)
        shutil.copy("/etc/roundcube/mimetypes.php", folder)
        shutil.copy(f"{APPS}/roundcube.php", folder + "/config.inc.php")
        with sqlite3.connect(folder + "/roundcube.db") as database, open("/usr/share/roundcube/SQL/sqlite.initial.sql") as file:
            database.executescript(file.read())


# A part of `make check`: one virtual environment, half a minute to install.
SHORT = [
    library("authlib_flask", "Authlib 1.9.10 for Flask", "--for authlib"),
    library("mozilla_django_oidc", "mozilla-django-oidc 5.0.2", "--for mozilla-django-oidc", back="/oidc/callback/", shows=[EMAIL],
            note='`OIDC_RP_SIGN_ALGO="RS256"`, as its documentation says'),
    library("django_allauth", "django-allauth 65.21.1", "--for django-allauth", back="/accounts/oidc/handstamp/login/callback/"),
    library("social_auth", "social-auth-core 7.0.0", "--for python-social-auth", back="/complete/oidc/", visit=press, shows=["Ada", EMAIL]),
    library("requests_oauthlib", "requests-oauthlib 2.0.0", "--for requests-oauthlib"),
    library("httpx_oauth", "httpx-oauth 0.17.0", "--for httpx-oauth", shows=[EMAIL, "acc_"]),
    library("requests_oauth2client", "requests-oauth2client 1.8.0", "--for requests_oauth2client"),
    library("simple_openid_connect", "simple-openid-connect 2.5.0", "--for simple-openid-connect"),
]
LONG = [
    library("oic_consumer", "oic 1.7.0", "--for oic", MORE),
    library("idpy_oidc", "idpyoidc 5.0.0", "--for idpyoidc", MORE, note="its services are named"),
    library("oauth2_authcodeflow", "django-oauth2-authcodeflow 1.4.1", "--for django-oauth2-authcodeflow", MORE, back="/oidc/callback", shows=[EMAIL],
            note="it never sends its secret together with PKCE"),
    library("aioauth_client", "aioauth-client 0.30.1", "--for aioauth-client", MORE),
    Program("jupyterhub", "JupyterHub 6.1.1 with oauthenticator 17.4.0", "--for jupyterhub", tool(HUB, "jupyterhub", "-f", "{apps}/jupyterhub.py"),
            back="/hub/oauth_callback", start="/hub/oauth_login?next=/hub/home", shows=[EMAIL], note="`username_claim`"),
    Program("panel", "Panel 1.9.4", "--for panel", tool(
        DATA, "panel", "serve", "{apps}/panel_app.py", "--port={port}", "--address=127.0.0.1", "--index=panel_app", "--cookie-secret=only for this test"),
            back="", start="/panel_app", note="the redirect URI has neither a path nor a slash", more=dict(
                PANEL_OAUTH_PROVIDER="generic", PANEL_OAUTH_KEY="party", PANEL_OAUTH_SECRET="{secret}", PANEL_OAUTH_TOKEN_URL="{issuer}/oauth/token",
                PANEL_OAUTH_AUTHORIZE_URL="{issuer}/oauth/authorize", PANEL_OAUTH_USER_URL="{issuer}/oauth/userinfo")),
    Program("kinto", "Kinto 26.5.0", "--for kinto", python(DATA, "kinto_server"), back="/v1/openid/handstamp/token",
            start="/v1/openid/handstamp/login", visit=kinto, shows=[EMAIL]),
    debian("social_auth_debian", "social-auth-core 4.3.0", "--for python-social-auth", script(sys.executable, "-P", "social_auth.py"),
           "python3-social-django python3-jose python3-django python3-werkzeug", back="/complete/oidc/", visit=press, shows=[EMAIL]),
    debian("omniauth", "gitlab-omniauth-openid-connect 0.10.0", "--for gitlab", script("ruby", "omniauth.rb"), RUBY + "ruby-omniauth-openid-connect",
           back="/auth/handstamp/callback", note="the one that GitLab uses"),
    debian("ruby_oauth2", "Ruby oauth2 1.4.4", "--for ruby-oauth2", script("ruby", "ruby_oauth2.rb"), RUBY + "ruby-oauth2"),
    debian("lwp_oauth2", "LWP::Authen::OAuth2 0.20", "--for lwp-authen-oauth2", script("perl", "lwp_oauth2.pl"),
           "liblwp-authen-oauth2-perl libmojolicious-perl"),
    debian("net_oauth2", "Net::OAuth2 0.67", "--for net-oauth2", script("perl", "net_oauth2.pl"), "libnet-oauth2-perl libmojolicious-perl"),
    debian("mojolicious", "Mojolicious::Plugin::OAuth2 2.02", "--for mojolicious-oauth2", script("perl", "mojolicious.pl"),
           "libmojolicious-plugin-oauth2-perl libmojo-jwt-perl libcrypt-openssl-rsa-perl libcrypt-openssl-bignum-perl", back="/",
           note="`authorize_query` has `response_type`"),
    debian("lemonldap", "LemonLDAP::NG 2.16.1", "--for lemonldap", script("perl", "lemonldap.pl"),
           "liblemonldap-ng-portal-perl libgd-securityimage-perl libimage-magick-perl libplack-perl", back="/?openidconnectcallback=1", shows=[EMAIL],
           note="the signature is checked if told so"),
    debian("go_oidc", "go-oidc 2.1.0 with x/oauth2 for Go", "--for go-oidc", script("go", "run", "go_oidc.go"), "golang-go golang-github-coreos-go-oidc-dev",
           more=dict(GO111MODULE="off", GOPATH="/usr/share/gocode", GOCACHE=cache() + "/go")),
    Program("node_jose", "jose 4.11 for Node (Debian 12) in a plain flow", "--without-pkce", script("node", "node_jose.js"), debian=["nodejs", "node-jose"],
            more=dict(NODE_PATH="/usr/share/nodejs")),
    debian("google_oauth", "google-oauth-client 1.34.1 for Java", "--for google-oauth-client", script("java", "-cp", "/usr/share/java/*", "GoogleOauth.java"),
           "default-jdk-headless libgoogle-oauth-client-java libgoogle-gson-java"),
    debian("roundcube", "Roundcube 1.6.5 with Dovecot 2.3.19", "--for roundcube",
           lambda port, folder: ["php", "-S", f"127.0.0.1:{port}", "-t", "/usr/share/roundcube"],
           " ".join(MAIL) + " roundcube-core roundcube-sqlite3 php-cli php-guzzlehttp-guzzle", back="/index.php/login/oauth",
           start="/?_task=login&_action=oauth", prepare=Mail, shows=[EMAIL], note="mailboxes open by the same token"),
]
APIS = [
    Resource("oauth_toolkit", "django-oauth-toolkit 3.4.1", python(MORE, "oauth_toolkit"), aimed=True, shows=["Ada"],
             note="access token for its address (`audiences` and `resource`), by introspection; `username` becomes the user"),
    Resource("mod_oauth2", "mod_oauth2 3.3.1 (Debian 12)", apache(
        "introspect ${PARTY_ISSUER}/oauth/introspect introspect.auth=client_secret_basic&client_id=${PARTY_ID}&client_secret=${PARTY_SECRET}"),
        shows=["about"], debian=["libapache2-mod-oauth2"], note="access token, by introspection"),
    Resource("mod_oauth2_keys", "mod_oauth2 3.3.1 (Debian 12)", apache("jwks_uri ${PARTY_ISSUER}/.well-known/jwks.json"), shows=["about"],
             debian=["libapache2-mod-oauth2"], note="access token, by its signature"),
    Mailbox("dovecot_introspection", "access token, by introspection; `username_attribute = email`", "introspection_mode = post",
            "introspection_url = http://party:{secret}@127.0.0.1:{port}/oauth/introspect", "active_attribute = email_verified", "active_value = true"),
    Mailbox("dovecot_userinfo", "access token, by asking for the person's claims", "introspection_mode = auth", "introspection_url = {issuer}/oauth/userinfo"),
]
