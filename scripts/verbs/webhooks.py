"""Sends events from a server that is killed again and again to a receiver, whose messages the package `standardwebhooks` verifies.

At the end each event has arrived, and those of an account in order."""
import collections, json, subprocess, threading

from kit import build, server
from kit.pypi import interpreter
from kit.web import Client, require, until
from parties.hostile import Listener

NEEDS = ["--tests"]
ACCOUNTS = 30
VERIFIER = """
import json, sys
from standardwebhooks import Webhook
webhook = Webhook(sys.argv[1])
for line in sys.stdin:
    headers, body = json.loads(line)
    webhook.verify(body, headers)
    try:
        webhook.verify(body.replace("account", "Account"), headers)
    except Exception:
        continue
    sys.exit("a changed message is verified")
"""


def main(options):
    server.PROGRAM = build.program()
    python = interpreter("webhooks", "standardwebhooks==1.1.0")
    here, messages, seen, lock = server.Server(), [], set(), threading.Lock()

    def take(request):
        """Takes every third message only at the second attempt."""
        name = request.headers["webhook-id"]
        with lock:
            is_late = len(seen) % 3 == 0 and name not in seen
            seen.add(name)
            if not is_late:
                messages.append(({key.lower(): value for key, value in request.headers.items()}, request.body))
                # At once: it refuses messages that are older than five minutes.
                verifier.stdin.write(json.dumps(messages[-1]) + "\n")
                verifier.stdin.flush()
        request.give(status=500 if is_late else 204)

    receiver, verifier = Listener(take), None
    try:
        # The same at each start: it is part of the issuer.
        port = server.free_port()
        here.launch("--rate-limits", "none", "--log-level", "error", port=port)
        secret = here.admin("webhooks", "add", "plain", receiver.url + "/", "--allow-private")["secret"]
        verifier = subprocess.Popen([python, "-c", VERIFIER, secret], stdin=subprocess.PIPE, text=True)
        for number in range(ACCOUNTS):
            account = Client(here).guest()["profile"]["id"]
            here.admin("accounts", "delete", account)
            if number % 10 == 9:
                here.kill()
                here.launch("--rate-limits", "none", "--log-level", "error", port=port)
        # A sign-in, an end and a deletion of each. The lease of a killed server lasts two minutes.
        wanted = ACCOUNTS * 3
        until(lambda: len({headers["webhook-id"] for headers, _ in messages}) == wanted, "an event is missing", 400)
        until(lambda: all(item["backlog"] == 0 for item in here.admin("webhooks", "list")["webhooks"]), "a backlog stays", 400, pause=1)
        events = collections.defaultdict(dict)
        for _, body in messages:
            data = json.loads(body)["data"]
            # Of one that came twice, the first time counts.
            events[data["account"]].setdefault(data["event"])
        require(all(list(each) == sorted(each) for each in events.values()), "an account's events are not in order")
        verifier.stdin.close()
        require(not verifier.wait(60), "a message is not verified")
        print(f"webhooks: {wanted} events, {len(messages)} messages verified, {ACCOUNTS // 10} kills")
    finally:
        here.remove()
        receiver.close()
        if verifier:
            verifier.kill()
