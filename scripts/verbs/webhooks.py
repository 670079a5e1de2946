"""Tells a receiver of others of events: the package `standardwebhooks` verifies messages, PyJWT verifies security event tokens.

The server is killed while events wait, again and again; at the end each event has arrived, and those of an account in order."""
import http.server, json, subprocess, threading

from kit import build, server
from kit.pypi import interpreter
from kit.web import Client, require, until

PACKAGES = "standardwebhooks==1.1.0 pyjwt==2.15.1 cryptography"
VERIFIER = r"""
import json, sys
import jwt
from standardwebhooks import Webhook
secret, keys, issuer = sys.argv[1:]
keys = {key["kid"]: jwt.PyJWK(key) for key in json.loads(keys)["keys"]}
for line in sys.stdin:
    message = json.loads(line)
    if message["headers"]["content-type"] == "application/json":
        Webhook(secret).verify(message["body"], message["headers"])
        try:
            Webhook(secret).verify(message["body"].replace("account", "Account"), message["headers"])
        except Exception:
            continue
        sys.exit("a changed message is verified")
    else:
        header = jwt.get_unverified_header(message["body"])
        assert header["typ"] == "secevent+jwt", header
        claims = jwt.decode(message["body"], keys[header["kid"]], algorithms=["ES256"], issuer=issuer, audience="https://crm.example.org",
                            options={"require": ["iss", "iat", "jti", "aud"]})
        assert len(claims["events"]) == 1 and claims["sub_id"], claims
"""


def options(parser):
    parser.add_argument("--accounts", type=int, default=30)


class Receiver:
    """Takes every third message only at the second attempt."""

    def __init__(self):
        self.messages, self.seen, self.lock, receiver = [], set(), threading.Lock(), self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                name = self.headers.get("webhook-id") or body
                with receiver.lock:
                    is_late = len(receiver.seen) % 3 == 0 and name not in receiver.seen
                    receiver.seen.add(name)
                    if not is_late:
                        receiver.messages.append({"headers": {key.lower(): value for key, value in self.headers.items()}, "body": body})
                self.send_response(500 if is_late else 204)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


def main(options):
    server.PROGRAM = build.program()
    here, plain, signed = server.Server(), Receiver(), Receiver()
    # The same at each start: it is part of the issuer.
    port = server.free_port()
    here.launch("--rate-limits", "none", "--log-level", "error", port=port)
    issuer = here.url
    secret = here.admin("webhooks", "add", "plain", plain.url, "--allow-private")["secret"]
    here.admin("webhooks", "add", "signed", signed.url, "--as", "set", "--audience", "https://crm.example.org", "--allow-private")
    try:
        for number in range(options.accounts):
            account = Client(here).guest()["profile"]["id"]
            here.admin("accounts", "delete", account)
            if number % 10 == 9:
                here.kill()
                here.launch("--rate-limits", "none", "--log-level", "error", port=port)
        # A sign-in, an end and a deletion of each. The lease of a killed server lasts two minutes.
        wanted = options.accounts * 3

        def arrived():
            return len({message["headers"]["webhook-id"] for message in plain.messages}) == wanted

        until(arrived, "an event is missing", 400)
        until(lambda: all(item["backlog"] == 0 for item in here.admin("webhooks", "list")["webhooks"]), "a backlog stays", 400, pause=1)
        keys = json.dumps(json.loads(Client(here).get("/.well-known/jwks.json").text))
        first = {}
        for message in plain.messages:
            body = json.loads(message["body"])
            events = first.setdefault(body["data"]["account"], [])
            if body["data"]["event"] not in events:
                require(not events or body["data"]["event"] > events[-1], "an account's events are not in order")
                events.append(body["data"]["event"])
        lines = "".join(json.dumps(message) + "\n" for message in plain.messages + signed.messages)
        checked = subprocess.run([interpreter("webhooks", PACKAGES), "-c", VERIFIER, secret, keys, issuer], input=lines, text=True)
        require(not checked.returncode, "a message is not verified")
        print(f"webhooks: {wanted} events, {len(plain.messages)} messages and {len(signed.messages)} tokens verified, {options.accounts // 10} kills")
    finally:
        here.remove()
    return 0
