"""glewlwyd, a server in C, with its OpenID Connect plugin and SQLite. Its package is not installed but unpacked into the folder, with only its
libraries installed: the package would add a user and enable a service, and its installation fails without a database set up by dbconfig."""
import base64, glob, json, os, re, sqlite3, subprocess
from load.peers_base import PASSWORD, TOKEN, Peer, apt, install, version

SECRET = "a-secret-of-the-resource-server"
# As in the sample of the package, except for places, the port, and cookies without TLS.
CONFIGURATION = """
port=%(port)d
bind_address="127.0.0.1"
external_url="http://127.0.0.1:%(port)d"
login_url="login.html"
api_prefix="api"
log_mode="file"
log_level="INFO"
log_file="%(folder)s/log"
cookie_domain="127.0.0.1"
cookie_secure=0
session_expiration=2419200
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="%(root)s/usr/lib/glewlwyd/user"
user_middleware_module_path="%(folder)s/none"
client_module_path="%(root)s/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="%(root)s/usr/lib/glewlwyd/scheme"
plugin_module_path="%(root)s/usr/lib/glewlwyd/plugin"
hash_algorithm="SHA512"
database = { type = "sqlite3" path = "%(folder)s/database" };
"""


class Glewlwyd(Peer):
    name = "glewlwyd"

    def install(self):
        install("openssl")
        self.root, self.version = "", version("glewlwyd")
        if os.path.exists("/usr/bin/glewlwyd"):
            return
        self.root = self.folder + "/root"
        # Without apt's sandbox, whose user may not write here.
        fetch = ["-o", "APT::Sandbox::User=root", "download", "glewlwyd"]
        apt(*fetch, folder=self.folder)
        package = glob.glob(self.folder + "/glewlwyd_*.deb")[0]
        self.version = re.search("_(.*)_", os.path.basename(package))[1]
        subprocess.run(["dpkg-deb", "-x", package, self.root], check=True)
        depends = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, capture_output=True, text=True).stdout.strip()
        libraries = ", ".join(one for one in depends.split(", ") if one.startswith(("lib", "zlib")))
        if "Inst " in subprocess.run(["apt-get", "satisfy", "-s", "--no-install-recommends", libraries], capture_output=True, text=True).stdout:
            apt("satisfy", libraries)

    def start(self, users):
        with open(self.root + "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3") as file:
            schema = file.read()
        database = sqlite3.connect(self.folder + "/database")
        # The file remembers it. Without it, by default, each commit writes a journal first, and waits for the disk more often. Its own connection
        # has SQLite's default, synchronous=FULL.
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(schema)
        database.close()
        with open(self.folder + "/configuration", "w") as file:
            file.write(CONFIGURATION % dict(port=self.port, folder=self.folder, root=self.root))
        os.mkdir(self.folder + "/none")
        self.launch([self.root + "/usr/bin/glewlwyd", "--config-file=" + self.folder + "/configuration"])
        self.configure(users)

    def configure(self, users):
        def post(path, **fields):
            status, headers, answer = self.call("POST", "/api/" + path, json.dumps(fields), dict(Cookie=cookie), "application/json")
            if status != 200:
                raise RuntimeError(f"glewlwyd: {path}: {status} {answer}")
            return headers

        cookie = ""
        # The account of the schema; it goes with the folder.
        cookie = post("auth", username="admin", password="password")["Set-Cookie"].split(";")[0]
        # ES256, as Handstamp signs.
        key = subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"], check=True, capture_output=True, text=True).stdout
        public = subprocess.run(["openssl", "ec", "-pubout"], input=key, check=True, capture_output=True, text=True).stdout
        flows = {f"auth-type-{flow}-enabled": True for flow in ("password", "client", "refresh")}
        post("mod/plugin/", module="oidc", name="peer", display_name="peer", enabled=True, parameters={
            "iss": f"http://127.0.0.1:{self.port}", "jwt-type": "ecdsa", "jwt-key-size": "256", "key": key, "cert": public,
            "code-duration": 600, "refresh-token-duration": 1209600, "access-token-duration": 3600, "refresh-token-rolling": True,
            # A token used twice ends its chain.
            "refresh-token-one-use": "always", "allow-non-oidc": True, "introspection-revocation-allowed": True,
            "introspection-revocation-allow-target-client": True} | flows)
        # Public clients may not use the password grant, and introspection tells a client only of its own tokens, if it may also use
        # client_credentials: so one confidential client does it all. Its client_secret is compared as it is; the other kind, a password, would
        # be hashed for each request, as those of users are.
        post("client/", client_id="app", name="app", confidential=True, enabled=True, client_secret=SECRET,
             authorization_type=["password", "refresh_token", "client_credentials"], token_endpoint_auth_method=["client_secret_basic"])
        for user in users:
            post("user/", username=user, name=user, password=PASSWORD, enabled=True, scope=["g_profile"])
        app = "Basic " + base64.b64encode(f"app:{SECRET}".encode()).decode()
        self.requests = {
            "refresh": ("/api/peer/token", f"grant_type=refresh_token&refresh_token={TOKEN}", app),
            "introspect": ("/api/peer/introspect", f"token={TOKEN}", app),
            # Without the scope openid, which would add an ID token.
            "password": ("/api/peer/token", f"grant_type=password&scope=g_profile&username={TOKEN}&password={PASSWORD}", app)}
        database = sqlite3.connect(self.folder + "/database")
        # A digest, and how often it was iterated.
        rounds = database.execute("SELECT guw_password FROM g_user_password ORDER BY guw_id DESC").fetchone()[0].split(",")[1]
        journal = database.execute("PRAGMA journal_mode").fetchone()[0]
        database.close()
        self.settings = dict(version=f"glewlwyd {self.version}", rotation="each refresh token once (refresh-token-one-use: always)",
                             password=f"pbkdf2_sha256, {rounds} rounds (its default)", database=f"SQLite, {journal}, synchronous=FULL")
