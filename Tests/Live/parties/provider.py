"""The server, with an account and its clients."""
import json

from kit.server import Server, free_port, told
from kit.web import Client, require

EMAIL, PASSWORD = "ada@example.org", "a long secret of Ada's"


class Provider(Server):
    token = None

    def __init__(self):
        super().__init__()
        self.clients = self.folder + "/clients.json"
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"

    def add(self, id, *options):
        """Adds a client by the command, and returns its secret, if it has one."""
        return told("admin", "clients", "add", id, "--clients", self.clients, *options).get("secret")

    def start(self, *flags, account=True):
        self.launch("--clients", self.clients, "--log-level", "warning", "--rate-limits", "none", "--notices", "none", *flags, port=self.port)
        if account:
            self.token = self.api("POST", "/v1/sign-up", dict(
                email=EMAIL, password=PASSWORD, username="Ada", device=dict(id="d-phone", name="Ada's phone", platform="ios")))["access_token"]

    def api(self, method, path, body=None):
        """A request of Ada's phone."""
        headers = {"Content-Type": "application/json", **({"Authorization": "Bearer " + self.token} if self.token else {})}
        answer = Client(self).request(method, path, body and json.dumps(body), headers)
        require(answer.status < 300, f"{method} {path}: {answer.status} {answer.text}")
        return answer.json

    def sessions(self, name):
        """The sessions of a client with that name."""
        return [session["id"] for session in self.api("GET", "/v1/sessions")["sessions"] if session["device"]["name"] == name]

    def end_session(self, session):
        self.api("DELETE", "/v1/sessions/" + session)
