"""Proves `handstamp mcp` with the reference SDK of the Model Context Protocol as client and as server.

The authorization server rotates refresh tokens strictly, and counts. Many bridges at once, expiries, kills, restarts of the server, a sign-out, and more
access. Prints a line for each; with --short, each takes less time. Installs the SDK into the user's cache."""
import contextlib, json, os, socket, subprocess, sys, tempfile, time

from kit import build, server
from kit.pypi import interpreter
from kit.report import Report
from kit.server import free_port
from kit.web import require, until
from parties.provider import EMAIL, PASSWORD, Provider
from parties.resource import change
from parties.strict import Strict

NEEDS = ["--tests"]
APPS = "Tests/Live/parties/apps/"
BROWSER = """#!{python}
import sys
sys.dont_write_bytecode, sys.path[:0] = True, ["{path}"]
from kit.web import Person
with open("{folder}/pages", "a") as file:
    file.write(sys.argv[1] + "\\n")
Person("{email}", "{password}").pass_through(sys.argv[1])
"""
seconds = 20


def options(parser):
    parser.add_argument("--short", action="store_true", help="a few seconds each")
    parser.add_argument("names", nargs="*", help="only these")


class Stage:
    """A remote server, and a machine with a browser at which a person allows everything."""

    def __init__(self):
        self.port, self.remote, self.programs, self.folder = free_port(), None, [], tempfile.mkdtemp(prefix="handstamp-mcp-")
        self.url, self.python = f"http://127.0.0.1:{self.port}/mcp", interpreter("mcp", "mcp==2.3.0")
        with open(self.folder + "/browser", "w") as file:
            file.write(BROWSER.format(
                python=sys.executable, folder=self.folder, path=os.path.abspath("Tests/Live"), email=EMAIL, password=PASSWORD))
        os.chmod(self.folder + "/browser", 0o755)
        self.environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy") and not key.startswith("HANDSTAMP_")}
        self.environment |= dict(HANDSTAMP_HOME=self.folder + "/home", BROWSER=self.folder + "/browser", MCP_PORT=str(self.port))

    def start(self):
        """Starts the remote server, also anew."""
        self.kill(self.remote)
        with open(self.folder + "/remote.log", "a") as log:
            self.remote = subprocess.Popen([self.python, "-P", APPS + "mcp_remote.py"], env=self.environment, stdout=log, stderr=log)

        def listens():
            require(self.remote.poll() == None, open(self.folder + "/remote.log").read())
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        until(listens, "the remote server does not listen", 60)

    def kill(self, process):
        if process:
            process.kill()
            process.wait()

    @property
    def pages(self):
        if not os.path.exists(self.folder + "/pages"):
            return []
        with open(self.folder + "/pages") as file:
            return file.read().splitlines()

    def program(self, tool, arguments, seconds=0, mode="auto"):
        """A program that uses a tool of the server through the bridge: for a time, or each time that it is asked. It first tells the tools."""
        with open(self.folder + "/programs.log", "a") as log:
            process = subprocess.Popen([self.python, "-P", APPS + "mcp_local.py"], env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=log, text=True)
        self.programs.append(process)
        self.say(process, json.dumps([[server.PROGRAM, "mcp", self.url, "--client-id", "agent"], mode, tool, arguments, seconds]))
        return process

    def say(self, process, line=""):
        process.stdin.write(line + "\n")
        process.stdin.flush()

    def ask(self, process):
        self.say(process)
        return self.told(process)

    def told(self, process):
        line = process.stdout.readline()
        require(line, lambda: f"a program has ended: {open(self.folder + '/programs.log').read()[-3000:]}")
        return json.loads(line)

    def command(self, *words):
        return subprocess.run([server.PROGRAM, *words], env=self.environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


@contextlib.contextmanager
def staged(life=600, prepare=None):
    """A stage whose remote server takes the tokens of a strict server, which live so long, or of another that `prepare` makes for its URL."""
    stage = Stage()
    stage.strict = None if prepare else Strict(life)
    try:
        stage.environment |= prepare(stage.url) if prepare else dict(MCP_ISSUER=stage.strict.url)
        stage.start()
        yield stage
    finally:
        for process in [*stage.programs, stage.remote]:
            stage.kill(process)
        if stage.strict:
            stage.strict.close()


def finish(stage, results, right):
    """How many calls the programs made, each of which had the right answer."""
    wrong = {text for told, answer in zip(results, right) for text in told if text != answer}
    require(not wrong, f"wrong answers: {list(wrong)[:3]}")
    require(len(stage.pages) == 1, f"{len(stage.pages)} pages")
    return sum(sum(told.values()) for told in results)


def storm():
    """Ten bridges start at once and use the server across expiries, while some are killed: one page, one refresh an expiry, no answer lost."""
    # A token younger than 5 s is not replaced.
    life = 8
    with staged(life) as stage:
        began = time.monotonic()
        programs = [stage.program("add", dict(a=number, b=1), seconds, "legacy" if number % 2 else "auto") for number in range(10)]
        for program in programs:
            require("add" in stage.told(program), "no tools")
        require(len(stage.pages) == 1 and stage.strict.sign_ins == 1, f"{len(stage.pages)} pages, {stage.strict.sign_ins} sign-ins")
        for _ in range(3):
            doomed = stage.program("add", dict(a=1, b=1), seconds)
            stage.told(doomed)
            time.sleep(life / 2)
            # The bridge, and the program that started it.
            subprocess.run(["pkill", "-KILL", "-P", str(doomed.pid)])
            doomed.kill()
        calls = finish(stage, [stage.told(program) for program in programs], [str(number + 1) for number in range(10)])
        took, strict = time.monotonic() - began, stage.strict
        require(strict.reuses == 0 and not strict.ended, f"{strict.reuses} tokens were used twice")
        # A token is replaced some time before it ends.
        require(1 <= strict.refreshes <= took / (life * 0.6) + 2, f"{strict.refreshes} refreshes in {took:.0f} s")
        return f"{calls} calls, {strict.refreshes} refreshes in {took:.0f} s, one page"


def sign_out():
    """A sign-out is told to a running bridge's client; after a sign-in the same bridge works."""
    with staged() as stage:
        program = stage.program("echo", dict(text="hi"))
        stage.told(program)
        require(stage.ask(program) == "hi", "no answer")
        status = json.loads(stage.command("status", "--json").stdout)
        require([each["url"] for each in status.get("programs", [])] == [stage.url], f"status: {status}")
        done = stage.command("logout", "--all")
        require(done.returncode == 0, done.stderr)
        refused = stage.ask(program)
        require("handstamp" in refused and "login" in refused, f"after the sign-out: {refused}")
        require(len(stage.pages) == 1, "a page was opened")
        done = stage.command("mcp", "login", stage.url)
        require(done.returncode == 0 and len(stage.pages) == 2, f"{done.stderr} {stage.pages}")
        require(stage.ask(program) == "hi", "no answer after the sign-in")
        return "refused with the next step, and works after the next sign-in"


def more_access():
    """A tool that needs another scope opens one page, and works afterwards."""
    with staged() as stage:
        program = stage.program("write", dict(text="x"))
        stage.told(program)
        refused = stage.ask(program)
        require("more access" in refused and "write" in refused, f"the first time: {refused}")
        until(lambda: stage.ask(program) == "written x", "no access after the page", 20, 0.2)
        require(len(stage.pages) == 2 and "read" in stage.pages[1] and "write" in stage.pages[1], f"pages: {stage.pages}")
        return "one page with both scopes"


def restart():
    """The server forgets its sessions: the client goes on, with large messages in both directions."""
    text = "ä" * (200 << 10)
    with staged() as stage:
        for mode in ["legacy", "auto"]:
            program = stage.program("echo", dict(text=text), mode=mode)
            stage.told(program)
            for _ in range(2):
                told = stage.ask(program)
                require(told == text, f"{mode}: {told[:300]}")
                stage.start()
        return "with sessions, and without; 400 KB as text"


def ours(url):
    """Our own server as the issuer, with what the remote server has to know of it."""
    provider = Provider()
    provider.add("agent", "--name", "The agent", "--is-public", "--redirect-uri", "http://127.0.0.1/callback",
                 *[part for scope in ["openid", "profile", "offline_access"] for part in ("--scope", scope)])
    secret = provider.add("remote", "--redirect-uri", "http://127.0.0.1:9/")
    change(provider, "agent", audiences=[url])
    change(provider, "remote", introspects=True)
    provider.start("--access-token-life", "10s")
    return dict(MCP_ISSUER=provider.issuer, MCP_SECRET=secret, MCP_SCOPE="profile")


def own_server():
    """Handstamp's own server issues the tokens: a token for the remote server alone, which the session's own token does not open."""
    with staged(prepare=ours) as stage:
        programs = [stage.program("add", dict(a=1, b=number), seconds) for number in range(3)]
        for program in programs:
            stage.told(program)
        calls = finish(stage, [stage.told(program) for program in programs], [str(1 + number) for number in range(3)])
        status = stage.command("status", "--verify")
        require(status.returncode == 0, f"the session's own token: {status.stdout} {status.stderr}")
        return f"{calls} calls with tokens of 10 s, one page"


def main(options):
    global seconds
    seconds = 8 if options.short else 20
    report = Report([storm, sign_out, more_access, restart, own_server], options.names)
    if words := report.unknown():
        sys.exit("mcp: " + words)
    server.PROGRAM = os.path.abspath(build.program())
    return report.run_all()
