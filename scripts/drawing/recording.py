"""Records refreshes of a real client at a real server: what a proxy between them sees, and what the vault and the database hold."""
import contextlib, hashlib, os, pathlib, sqlite3, subprocess, threading, time

from kit import server
from kit.web import Client, fields, require
from parties.hostile import Listener


class Proxy(Listener):
    """Passes requests on, and keeps the requests for tokens. Holds one response back if `hold` is set."""

    def __init__(self, place, stores):
        super().__init__(self.pass_on)
        self.place, self.stores, self.exchanges = place, stores, []
        self.hold, self.held, self.release = False, threading.Event(), threading.Event()

    def pass_on(self, request):
        before = self.stores()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
        answer = Client(self.place).request(request.command, request.path, request.body.encode(), headers)
        if request.path == "/oauth/token":
            form = fields("?" + request.body)
            self.exchanges.append(dict(form=form, before=before, status=answer.status, answer=answer.json, after=self.stores()))
            if self.hold:
                self.hold = False
                self.held.set()
                self.release.wait(30)
        request.give(answer.body, answer.status)


def record():
    """Returns the exchanges of five steps, in order, and what the programs said."""
    here = server.Server()
    try:
        here.launch("--access-token-life", "1s")
        return play(here)
    finally:
        here.remove()


def play(place):
    home = place.folder + "/home"

    def stores():
        vaults = [hashlib.sha256(path.read_bytes()).hexdigest() for path in pathlib.Path(home).glob("vault/*.vault")]
        with contextlib.closing(sqlite3.connect(f"file:{place.folder}/data/registry.sqlite?mode=ro", uri=True)) as database:
            counter, ended = database.execute("SELECT counter, end_reason FROM session").fetchone() or (None, None)
        return dict(vault=vaults, counter=counter, ended=ended)

    surroundings = {name: value for name, value in os.environ.items() if name not in ("HANDSTAMP_TOKEN", "HANDSTAMP_ACCOUNT")}
    more = dict(env=surroundings | dict(HANDSTAMP_HOME=home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def token():
        # Longer than the lifetime of an access token.
        time.sleep(1.1)
        done = subprocess.run([server.PROGRAM, "token"], timeout=30, **more)
        return dict(status=done.returncode, out=done.stdout.strip(), words=done.stderr.strip())

    proxy = Proxy(place, stores)
    done = subprocess.run([server.PROGRAM, "signup", "--server", proxy.url, "ada@example.org"], input="correct horse battery\n", timeout=30, **more)
    require(done.returncode == 0, done.stderr)
    time.sleep(1.1)
    calm = stores()

    proxy.hold = True
    child = subprocess.Popen([server.PROGRAM, "token"], **more)
    require(proxy.held.wait(30), "no refresh")
    child.kill()
    child.communicate()
    proxy.release.set()
    killed = stores()

    again = token()
    settled = stores()
    Client(proxy).refresh(proxy.exchanges[0]["form"]["refresh_token"], "AAAAAAAAAAAAAAAAAAAAAA")
    last = token()
    proxy.close()
    return dict(exchanges=proxy.exchanges, calm=calm, killed=killed, again=again, settled=settled, last=last)
