"""The programs of others that sign a person in, one entry each; docs/openid.md has the same table."""
import os, shutil, sqlite3, subprocess, sys

from parties.mailbox import MAIL, Dovecot
from kit.web import Page, fields, require
from parties.program import APPS, Program
from parties.provider import EMAIL
from kit.pypi import cache, interpreter
from parties.resource import Mailbox, Resource, apache

# Of each virtual environment, the packages and their versions; what they need comes along in whichever version they ask for.
LIBRARIES = ("libraries", """
    flask==3.1.3 django==5.2.19 fastapi==0.165.0 starlette==1.10.0 uvicorn itsdangerous python-multipart httpx requests authlib==1.9.10
    mozilla-django-oidc==5.0.2 django-allauth[socialaccount]==65.21.1 social-auth-app-django==8.0.0 social-auth-core==7.0.0 requests-oauthlib==2.0.0 flask-oidc==2.4.0
    flask-dance==7.1.0 fastapi-sso==0.23.0 httpx-oauth==0.17.0 requests-oauth2client==1.8.0 simple-openid-connect==2.5.0 pyjwt[crypto]==2.15.1""")
MORE = ("more-libraries", """
    flask==3.1.3 django==5.2.19 starlette uvicorn requests oic==1.7.0 idpyoidc==5.0.0 django-pyoidc==1.0.13 django-oauth2-authcodeflow==1.4.1
    python-jose[cryptography]==3.5.0 joserfc==1.8.0 authlib==1.9.10 aioauth-client==0.30.1 flask-multipass==0.11.2
    flask-appbuilder==5.3.0 authomatic==1.3.0 drf-oidc-auth==4.0.0 django-oauth-toolkit==3.4.1""")
ADMIN = ("pgadmin", "pgadmin4==9.18 requests")
PYOIDC = ("flask-pyoidc", "flask-pyoidc==3.14.3 flask==3.1.3")
STREAMLIT = ("streamlit", "streamlit[auth]==1.67.0 authlib==1.9.10 requests")
HUB = ("jupyterhub", "jupyterhub==6.1.1 oauthenticator==17.4.0")
DATA = ("data-apps", "panel==1.9.4 dash==4.4.1 dash-auth==2.3.0 authlib==1.9.10 requests kinto==26.5.0 waitress")


# Of a client whose program is not known by its name.
PLAIN = ["--without-pkce"]
# Of Debian.
RUBY = ["ruby", "ruby-sinatra", "ruby-webrick"]


def known(name):
    return ["--for", name]


def python(environment, app):
    """Without the folder of the application: its name may be that of the library."""
    return lambda port, folder: [interpreter(*environment), "-P", f"{APPS}/{app}.py"]


def tool(environment, program, *arguments):
    """A command of a virtual environment."""
    def command(port, folder):
        python = interpreter(*environment)
        return [python, f"{os.path.dirname(python)}/{program}", *[argument.format(port=port, apps=APPS) for argument in arguments]]
    return command


def script(*interpreter, app):
    return lambda port, folder: [*interpreter, f"{APPS}/{app}"]


def go(app):
    """Built once, with the libraries of Debian."""
    def command(port, folder):
        program = os.path.join(cache(), app)
        source = f"{APPS}/{app}.go"
        if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
            subprocess.run(["go", "build", "-o", program, source], check=True, env=dict(
                os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode", GOCACHE=os.path.join(cache(), "go")))
        return [program]
    return command


def library(app, version, options, environment=LIBRARIES, **more):
    return Program(app, version, options, python(environment, app), **more)


def press(path):
    """Presses a button that leads to the sign-in."""
    def visit(person, url):
        return person.go_on(person.open(url + path, method="POST", fields={}))
    return visit


def then(path):
    """Signs in, and looks at another page."""
    def visit(person, url):
        person.pass_through(url)
        return person.open("/".join(url.split("/")[:3]) + path)
    return visit


def kinto(person, url):
    """The tokens come back in the address; the API knows the person by the access token."""
    import base64, json, urllib.parse
    done = "http://127.0.0.1:9/done#token="
    page = person.pass_through(url + "?" + urllib.parse.urlencode(dict(callback=done, scope="openid email profile")), until="http://127.0.0.1:9/done")
    require("#token=" in page.url, f"no token: {page.url}")
    token = json.loads(base64.b64decode(urllib.parse.unquote(page.url.split("#token=")[1])))
    return person.load("GET", url.split("/v1")[0] + "/v1/", headers={"Authorization": "Bearer " + token.get("access_token", "")})


def pgadmin(person, url):
    """Presses the button of its sign-in page, which a script draws."""
    import re
    page = person.open(url + "login")
    token = re.search(r'"csrfToken": "([^"]+)"', page.text).group(1)
    page = person.open(url + "authenticate/login", method="POST", fields=dict(oauth2_button="handstamp", csrf_token=token))
    person.go_on(page)
    return person.open(url + "user_management/current_user.js")


def chromium(person, url):
    """Signs in with a browser that runs scripts, where the application is one."""
    from kit.chromium import Chromium
    with Chromium(url) as browser:
        browser.open(url)
        browser.press("[data-testid=stButton] button")
        browser.fill("email", person.email)
        person.asked = fields(browser.driver.current_url)
        browser.fill("password", person.password)
        browser.press("button[value=sign-in]")
        browser.press("button[value=allow]")
        browser.wait(lambda: "signed in" in browser.text(), "not signed in", 30)
        return Page(browser.driver.current_url, 200, {}, browser.text())


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
    library("authlib_flask", "Authlib 1.9.10 for Flask", known("authlib")),
    library("authlib_starlette", "Authlib 1.9.10 for Starlette", known("authlib")),
    library("authlib_django", "Authlib 1.9.10 for Django", known("authlib")),
    library("mozilla_django_oidc", "mozilla-django-oidc 5.0.2", known("mozilla-django-oidc"), back="/oidc/callback/", shows=[EMAIL], note='`OIDC_RP_SIGN_ALGO="RS256"`, as its documentation says'),
    library("django_allauth", "django-allauth 65.21.1", known("django-allauth"), back="/accounts/oidc/handstamp/login/callback/"),
    library("social_auth", "social-auth-core 7.0.0", known("python-social-auth"), back="/complete/oidc/", visit=press("login/oidc/"), shows=["Ada", EMAIL]),
    library("requests_oauthlib", "requests-oauthlib 2.0.0", known("requests-oauthlib")),
    library("flask_oidc", "flask-oidc 2.4.0", known("flask-oidc"), back="/authorize"),
    library("flask_dance", "flask-dance 7.1.0", known("flask-dance"), back="/login/handstamp/authorized"),
    library("fastapi_sso", "fastapi-sso 0.23.0", known("fastapi-sso")),
    library("httpx_oauth", "httpx-oauth 0.17.0", known("httpx-oauth"), shows=[EMAIL, "acc_"]),
    library("requests_oauth2client", "requests-oauth2client 1.8.0", known("requests_oauth2client")),
    library("simple_openid_connect", "simple-openid-connect 2.5.0", known("simple-openid-connect")),
    library("pyjwt", "PyJWT 2.15.1 in a plain flow", PLAIN),
]
LONG = [
    library("flask_pyoidc", "Flask-pyoidc 3.14.3", known("flask-pyoidc"), PYOIDC, back="/redirect_uri"),
    library("oic_consumer", "oic 1.7.0", known("oic"), MORE),
    library("idpy_oidc", "idpyoidc 5.0.0", known("idpyoidc"), MORE, note="its services are named"),
    library("django_pyoidc", "django-pyoidc 1.0.13", known("django-pyoidc"), MORE, back="/auth/sso-callback", shows=[EMAIL], note="`scopes`, as its documentation says"),
    library("oauth2_authcodeflow", "django-oauth2-authcodeflow 1.4.1", known("django-oauth2-authcodeflow"), MORE, back="/oidc/callback", shows=[EMAIL], note="it sends its secret never together with PKCE"),
    library("flask_multipass", "Flask-Multipass 0.11.2", known("flask-multipass"), MORE, back="/multipass/authlib/handstamp", note="the one that Indico uses"),
    library("flask_appbuilder", "Flask-AppBuilder 5.3.0", known("flask-appbuilder"), MORE, back="/oauth-authorized/handstamp", shows=["Ada", EMAIL], note="a function that reads the claims, as its documentation says; the same in Superset and Airflow"),
    library("python_jose", "python-jose 3.5.0 in a plain flow", PLAIN, MORE),
    library("joserfc_client", "joserfc 1.8.0 in a plain flow", PLAIN, MORE),
    library("aioauth_client", "aioauth-client 0.30.1", known("aioauth-client"), MORE),
    library("authomatic_client", "authomatic 1.3.0", known("authomatic"), MORE, back="/", note="`_x_scope_parser` joins scopes by spaces"),
    Program("pgadmin", "pgAdmin 9.18", known("pgadmin"), python(ADMIN, "pgadmin"), back="/oauth2/authorize", visit=pgadmin, shows=[EMAIL]),
    Program("streamlit", "Streamlit 1.67.0", known("streamlit"), python(STREAMLIT, "streamlit_app"), back="/oauth2callback", visit=chromium, more=dict(PARTY_FIRST="yes"), note="in Chromium"),
    Program("jupyterhub", "JupyterHub 6.1.1 with oauthenticator 17.4.0", known("jupyterhub"), tool(HUB, "jupyterhub", "-f", "{apps}/jupyterhub.py"), back="/hub/oauth_callback",
            start="/hub/oauth_login?next=/hub/home", shows=[EMAIL], note="`username_claim`"),
    Program("panel", "Panel 1.9.4", known("panel"), tool(DATA, "panel", "serve", "{apps}/panel_app.py", "--port", "{port}", "--address", "127.0.0.1", "--index", "panel_app",
            "--cookie-secret", "only for this test"), back="", start="/panel_app", more=dict(
                PANEL_OAUTH_PROVIDER="generic", PANEL_OAUTH_KEY="party", PANEL_OAUTH_SECRET="{secret}", PANEL_OAUTH_TOKEN_URL="{issuer}/oauth/token", PANEL_OAUTH_AUTHORIZE_URL="{issuer}/oauth/authorize",
                PANEL_OAUTH_USER_URL="{issuer}/oauth/userinfo"), note="the redirect URI has neither a path nor a slash"),
    Program("dash_auth", "dash-auth 2.3.0", known("dash-auth"), python(DATA, "dash_auth"), back="/oidc/handstamp/callback", visit=then("/_dash-layout")),
    Program("kinto", "Kinto 26.5.0", known("kinto"), python(DATA, "kinto_server"), back="/v1/openid/handstamp/token",
            start="/v1/openid/handstamp/login", visit=kinto, shows=[EMAIL]),
    Program("social_auth_debian", "social-auth-core 4.3.0 (Debian 12)", known("python-social-auth"), lambda port, folder: [sys.executable, "-P", APPS + "/social_auth.py"],
            back="/complete/oidc/", visit=press("login/oidc/"), shows=[EMAIL], debian=["python3-social-django", "python3-jose", "python3-django", "python3-werkzeug"]),
    Program("omniauth", "gitlab-omniauth-openid-connect 0.10.0 (Debian 12)", known("gitlab"), script("ruby", app="omniauth.rb"), back="/auth/handstamp/callback",
            debian=RUBY + ["ruby-omniauth-openid-connect"], note="the one that GitLab uses"),
    Program("openid_connect", "Ruby openid_connect 1.2.0 (Debian 12)", PLAIN, script("ruby", app="openid_connect.rb"), debian=RUBY + ["ruby-openid-connect"]),
    Program("ruby_oauth2", "Ruby oauth2 1.4.4 (Debian 12)", known("ruby-oauth2"), script("ruby", app="ruby_oauth2.rb"), debian=RUBY + ["ruby-oauth2"]),
    Program("lwp_oauth2", "LWP::Authen::OAuth2 0.20 (Debian 12)", known("lwp-authen-oauth2"), script("perl", app="lwp_oauth2.pl"),
            debian=["liblwp-authen-oauth2-perl", "libmojolicious-perl"]),
    Program("net_oauth2", "Net::OAuth2 0.67 (Debian 12)", known("net-oauth2"), script("perl", app="net_oauth2.pl"), debian=["libnet-oauth2-perl", "libmojolicious-perl"]),
    Program("mojolicious", "Mojolicious::Plugin::OAuth2 2.02 (Debian 12)", known("mojolicious-oauth2"), script("perl", app="mojolicious.pl"), back="/",
            debian=["libmojolicious-plugin-oauth2-perl", "libmojo-jwt-perl", "libcrypt-openssl-rsa-perl", "libcrypt-openssl-bignum-perl"], note="`authorize_query` has `response_type`"),
    Program("lemonldap", "LemonLDAP::NG 2.16.1 (Debian 12)", known("lemonldap"), script("perl", app="lemonldap.pl"), back="/?openidconnectcallback=1", shows=[EMAIL],
            debian=["liblemonldap-ng-portal-perl", "libgd-securityimage-perl", "libimage-magick-perl", "libplack-perl"], note="the signature is checked if told so"),
    Program("go_oidc", "go-oidc 2.1.0 with x/oauth2 for Go (Debian 12)", known("go-oidc"), go("go_oidc"), debian=["golang-go", "golang-github-coreos-go-oidc-dev"]),
    Program("node_jose", "jose 4.11 for Node (Debian 12) in a plain flow", PLAIN, script("node", app="node_jose.js"), debian=["nodejs", "node-jose"],
            more=dict(NODE_PATH="/usr/share/nodejs")),
    Program("google_oauth", "google-oauth-client 1.34.1 for Java (Debian 12)", known("google-oauth-client"), script("java", "-cp", "/usr/share/java/*", app="GoogleOauth.java"),
            debian=["default-jdk-headless", "libgoogle-oauth-client-java", "libgoogle-gson-java"]),
    Program("roundcube", "Roundcube 1.6.5 with Dovecot 2.3.19 (Debian 12)", known("roundcube"),
            lambda port, folder: ["php", "-S", f"127.0.0.1:{port}", "-t", "/usr/share/roundcube"], back="/index.php/login/oauth", start="/?_task=login&_action=oauth",
            prepare=Mail, shows=[EMAIL], debian=MAIL + ["roundcube-core", "roundcube-sqlite3", "php-cli", "php-guzzlehttp-guzzle"], note="mailboxes open by the same token"),
]
APIS = [
    Resource("drf_oidc_auth", "drf-oidc-auth 4.0.0", python(MORE, "drf_oidc_auth"), shows=[EMAIL, "acc_"], note="access token, by asking for the person's claims"),
    Resource("drf_oidc_auth_jwt", "drf-oidc-auth 4.0.0", python(MORE, "drf_oidc_auth"), scheme="JWT", token="id_token", shows=["acc_"],
             note="ID token, by its signature (RS256)"),
    Resource("oauth_toolkit", "django-oauth-toolkit 3.4.1", python(MORE, "oauth_toolkit"), aimed=True, shows=["Ada"],
             note="access token for its address (`audiences` and `resource`), by introspection; `username` becomes the user"),
    Resource("mod_oauth2", "mod_oauth2 3.3.1 (Debian 12)", apache(
        "introspect ${PARTY_ISSUER}/oauth/introspect introspect.auth=client_secret_basic&client_id=${PARTY_ID}&client_secret=${PARTY_SECRET}"),
        shows=["about"], debian=["libapache2-mod-oauth2"], note="access token, by introspection"),
    Resource("mod_oauth2_keys", "mod_oauth2 3.3.1 (Debian 12)", apache("jwks_uri ${PARTY_ISSUER}/.well-known/jwks.json"), shows=["about"],
             debian=["libapache2-mod-oauth2"], note="access token, by its signature"),
    Mailbox("dovecot_introspection", "access token, by introspection; `username_attribute = email`", "introspection_mode = post",
            "introspection_url = http://party:{secret}@127.0.0.1:{port}/oauth/introspect", "active_attribute = active", "active_value = true"),
    Mailbox("dovecot_userinfo", "access token, by asking for the person's claims", "introspection_mode = auth", "introspection_url = {issuer}/oauth/userinfo"),
]
