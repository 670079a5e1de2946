"""The server, with an account and its clients."""
import http.client, json, os, random, shutil, signal, socket, subprocess, tempfile

PROGRAM = ""
EMAIL, PASSWORD = "ada@example.org", "a long secret of Ada's"
running = []


def free_port():
    """Below those of outgoing connections, one of which could take it until it is listened at."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Provider:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="openid-")
        os.chmod(self.folder, 0o711)
        self.clients = self.folder + "/clients.json"
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.process = None
        running.append(self)

    def add(self, id, *options):
        """Adds a client by the command, and returns its secret, if it has one."""
        answer = subprocess.run(
            [PROGRAM, "admin", "clients", "add", id, "--clients", self.clients, "--json", *options],
            capture_output=True, text=True)
        if answer.returncode:
            raise RuntimeError(answer.stderr)
        return json.loads(answer.stdout).get("secret")

    def start(self, *flags, account=True):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--data", self.folder + "/data", "--port", str(self.port), "--clients", self.clients,
             "--log-level", "warning", "--rate-limits", "none", "--notices", "none", *flags],
            stdout=subprocess.PIPE, stderr=open(self.folder + "/log", "w"), text=True)
        if not self.process.stdout.readline():
            raise RuntimeError(open(self.folder + "/log").read())
        if account:
            self.token = self.api("POST", "/v1/sign-up", dict(
                email=EMAIL, password=PASSWORD, username="Ada", device=dict(id="d-phone", name="Ada's phone", platform="ios")))["access_token"]

    def api(self, method, path, body=None):
        """A request of Ada's phone."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Content-Type": "application/json"}
        if getattr(self, "token", None):
            headers["Authorization"] = "Bearer " + self.token
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text}")
        return json.loads(text) if text else {}

    def sessions(self, name):
        """The sessions of a client with that name."""
        return [session["id"] for session in self.api("GET", "/v1/sessions")["sessions"] if session["device"]["name"] == name]

    def end(self, session):
        self.api("DELETE", "/v1/sessions/" + session)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
