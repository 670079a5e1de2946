"""django-oauth-toolkit, served by gunicorn, with SQLite."""
import base64, os, secrets, sqlite3, subprocess
from load.peers_base import PASSWORD, TOKEN, Peer, install, version

HERE = os.path.dirname(os.path.abspath(__file__))


class Django(Peer):
    name = "django"

    def install(self):
        install("python3-django-oauth-toolkit", "gunicorn")

    def start(self, users):
        secret = secrets.token_hex(24)
        environment = dict(PEERS_FOLDER=self.folder, PEERS_SECRET=secret, PEERS_PASSWORD=PASSWORD, PYTHONDONTWRITEBYTECODE="1")
        run = subprocess.run(["/usr/bin/python3", HERE + "/peers_site.py", *users], env=os.environ | environment, capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"django: {run.stderr[-1000:]}")
        self.launch(["/usr/bin/gunicorn", "--pythonpath", HERE, "--bind", f"127.0.0.1:{self.port}", "--worker-class", "gthread", "--workers", "2",
                     "--threads", "4", "peers_site:application"], **environment)
        resource = "Basic " + base64.b64encode(f"resource:{secret}".encode()).decode()
        self.requests = {
            "refresh": ("/o/token/", f"grant_type=refresh_token&client_id=app&refresh_token={TOKEN}", None),
            "introspect": ("/o/introspect/", f"token={TOKEN}", resource),
            "password": ("/o/token/", f"grant_type=password&client_id=app&username={TOKEN}&password={PASSWORD}", None)}
        database = sqlite3.connect(self.folder + "/database")
        algorithm, rounds = database.execute("SELECT password FROM auth_user").fetchone()[0].split("$")[:2]
        journal = database.execute("PRAGMA journal_mode").fetchone()[0]
        database.close()
        packages = ("python3-django-oauth-toolkit", "python3-django", "gunicorn")
        self.settings = dict(version=", ".join(f"{package} {version(package)}" for package in packages) + ", 2 workers x 4 threads",
                             rotation="each refresh token once (ROTATE_REFRESH_TOKEN, its default)",
                             password=f"{algorithm}, {rounds} rounds (its default)", database=f"SQLite, {journal}, synchronous=FULL")
