"""A program of others that signs a person in: an application as its documentation shows it, with its own defaults, in a process of its own."""
import contextlib, json, os, signal, socket, subprocess, urllib.parse

from kit.debian import install
from kit.server import free_port
from kit.web import Lost, Person, fields, require, until
from parties.provider import EMAIL, PASSWORD, Provider

APPS = os.path.dirname(os.path.abspath(__file__)) + "/apps"


class Watcher(Person):
    """Keeps the authorization request."""
    asked = None

    def load(self, method, url, form=None, headers={}):
        if urllib.parse.urlsplit(url).path == "/oauth/authorize" and not self.asked:
            self.asked = fields(url)
        return super().load(method, url, form, headers)

    def manner(self):
        """What the program protects the code with."""
        require(self.asked, f"the server is not asked: {self.seen}")
        names = [name for name, field in (("PKCE", "code_challenge"), ("nonce", "nonce")) if field in self.asked]
        return " and ".join(names) or "neither PKCE nor nonce"


def documented(program):
    with open("docs/openid.md") as file:
        require(program.row() in file.read(), f"docs/openid.md has no such row: {program.row()}")


class Program:
    """`name` is that of the case; `options` are those of `admin clients add`; `command` gives what is started, from the port and a folder. The page
    that `visit` ends with, from `start`, has the words of `shows`. `prepare` starts what stands beside the program; `debian` are the packages that
    have to be installed, and `more` further variables of its environment."""
    def __init__(self, name, version, options, command, back="/callback", start="/", visit=Person.pass_through, shows=("Ada", EMAIL, "acc_"), prepare=None,
                 debian=(), more=None, note=""):
        self.__name__, self.version, self.command, self.back, self.start = name, version, command, back, start
        self.options, self.visit, self.shows, self.prepare, self.debian, self.more = options, visit, shows, prepare, debian, more or {}
        self.note = note

    def row(self):
        """Its row in docs/openid.md."""
        return f"| {self.version} | `{self.options}` | {self.back and '`' + self.back + '`'} | {self.note} |"

    def __call__(self):
        documented(self)
        if self.debian:
            install(*self.debian)
        provider, port = Provider(), free_port()
        url, folder = f"http://127.0.0.1:{port}", provider.folder + "/program"
        os.mkdir(folder)
        secret = self.register(provider, url)
        provider.start()
        beside, process = self.prepare(provider, folder) if self.prepare else None, None
        clean = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        environment = clean | dict(
            PARTY_ISSUER=provider.issuer, PARTY_ID="party", PARTY_SECRET=secret or "", PARTY_URL=url, PARTY_PORT=str(port), PARTY_FOLDER=folder,
            HOME=folder, PYTHONPATH=APPS + "/base", PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1", **getattr(beside, "environment", {}),
            **{key: value.format(issuer=provider.issuer, secret=secret) for key, value in self.more.items()})
        try:
            with open(folder + "/log", "w") as log:
                process = subprocess.Popen(
                    self.command(port, folder), cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            self.wait(process, port)
            page, facts = self.enter(url)
            require(self.protection(provider) in (None, facts), f"the client has {self.protection(provider)}, its program {facts}")
            for word in self.shows:
                require(word in page.text, f"“{word}” is not shown: {page.status} {page.url} {page.text[:1000]}")
            return f"{self.version}: {facts}; knows {', '.join(self.shows)}"
        except Exception as fault:
            with open(folder + "/log") as log:
                raise Lost(f"{fault}\n{log.read()[-3000:]}") from fault
        finally:
            if process:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if beside:
                beside.stop()

    def register(self, provider, url):
        """Adds the client, and returns its secret."""
        return provider.add("party", "--name", "The party", "--redirect-uri", url + self.back, *self.options.split())

    @staticmethod
    def protection(provider):
        """What the client has to protect a code with, in the words of `manner`."""
        with open(provider.clients) as file:
            chosen = json.load(file)[0].get("codeProtection")
        return {"nonce": "nonce", "none": "neither PKCE nor nonce"}.get(chosen)

    def enter(self, url):
        """Signs in. Returns the last page, and how the program asked."""
        person = Watcher(EMAIL, PASSWORD)
        page = self.visit(person, url + self.start)
        return page, person.manner()

    @staticmethod
    def wait(process, port):
        def listens():
            require(process.poll() == None, "the application does not start")
            with socket.create_connection(("127.0.0.1", port), 1):
                return True
        until(listens, "the application does not listen", 180)
