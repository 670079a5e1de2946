"""Proves `handstamp mcp` with the reference SDK of the Model Context Protocol as client and as server.

The authorization server rotates refresh tokens strictly, and counts. Many bridges at once, expiries, kills, restarts of the server, a sign-out, more
access, and how much time a message takes more. Prints a line for each; with --short, each takes less time. Installs the SDK into the user's cache."""
import glob, json, os, signal, socket, subprocess, sys, tempfile, time

from kit import build, server
from kit.pypi import interpreter
from kit.report import Report
from kit.server import free_port
from kit.web import require, until
from parties.provider import EMAIL, PASSWORD, Provider
from parties.resource import change
from parties.strict import Strict

NEEDS = ["--tests"]
SDK = ("mcp", "mcp==2.3.0")
APPS = "Tests/Live/parties/apps/"
BROWSER = """#!{python}
import sys
sys.dont_write_bytecode, sys.path[:0] = True, ["{path}"]
from kit.web import Person
with open("{folder}/pages", "a") as file:
    file.write(sys.argv[1] + "\\n")
Person("{email}", "{password}").pass_through(sys.argv[1])
"""
seconds, limit = 20, None


def options(parser):
    parser.add_argument("--short", action="store_true", help="a few seconds each")
    parser.add_argument("--limit", type=float, help="the most milliseconds that a message may take more, at the median")
    parser.add_argument("names", nargs="*", help="only these")


class Stage:
    """A remote server, its authorization server, and a machine with a browser at which a person allows everything.

    `prepare` gets the URL of the remote server and gives the issuer, and what the remote server has to know of it; `None` is a strict server."""
    def __init__(self, life=600, prepare=None):
        self.port, self.remote, self.bridges = free_port(), None, []
        self.folder = tempfile.mkdtemp(prefix="handstamp-mcp-")
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        with open(self.folder + "/browser", "w") as file:
            file.write(BROWSER.format(
                python=sys.executable, folder=self.folder, path=os.path.abspath("Tests/Live"), email=EMAIL, password=PASSWORD))
        os.chmod(self.folder + "/browser", 0o755)
        self.strict = None if prepare else Strict(life)
        issuer, more = prepare(self.url) if prepare else (self.strict.issuer, {})
        clean = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy") and not key.startswith("HANDSTAMP_")}
        self.environment = dict(
            clean, HANDSTAMP_HOME=self.folder + "/home", BROWSER=self.folder + "/browser", MCP_PORT=str(self.port), MCP_ISSUER=issuer,
            **more)
        self.python = interpreter(*SDK)
        self.start()

    def start(self):
        with open(self.folder + "/remote.log", "a") as log:
            self.remote = subprocess.Popen([self.python, "-P", APPS + "mcp_remote.py"], env=self.environment, stdout=log, stderr=log)

        def listens():
            require(self.remote.poll() == None, open(self.folder + "/remote.log").read())
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        until(listens, "the remote server does not listen", 60)

    def stop(self):
        for process in [*self.bridges, self.remote]:
            process.kill()
            process.wait()
        if self.strict:
            self.strict.stop()

    @property
    def pages(self):
        if not os.path.exists(self.folder + "/pages"):
            return []
        with open(self.folder + "/pages") as file:
            return file.read().splitlines()

    def bridge(self):
        return [server.PROGRAM, "mcp", self.url, "--client-id", "agent"]

    def client(self, calls, through=None, **more):
        """A program that uses the server, through the bridge unless another way is given."""
        job = dict(server=through or self.bridge(), calls=calls, **more)
        log = open(self.folder + "/clients.log", "a")
        process = subprocess.Popen(
            [self.python, "-P", APPS + "mcp_local.py", json.dumps(job)], env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            text=True)
        self.bridges.append(process)
        return process

    def line(self, process):
        line = process.stdout.readline()
        require(line, f"a program has ended: {open(self.folder + '/clients.log').read()[-3000:]}")
        return json.loads(line)

    def command(self, *words):
        return subprocess.run([server.PROGRAM, *words], env=self.environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    def running(self):
        """The processes of the bridges."""
        return [json.load(open(path))["process"] for path in glob.glob(self.folder + "/home/mcp/running/*.json")]


def with_stage(case):
    def run():
        stage = Stage(*case.__defaults__ or ())
        try:
            return case(stage)
        finally:
            stage.stop()
    run.__name__, run.__doc__ = case.__name__, case.__doc__
    return run


def storm():
    """Ten bridges start at once and use the server across expiries, while some are killed: one page, one refresh an expiry, no answer lost."""
    # A token younger than 5 s is not replaced.
    life = 8
    stage = Stage(life)
    try:
        began = time.monotonic()
        programs = [
            stage.client([["add", dict(a=number, b=1)]], right=[str(number + 1)], seconds=seconds, mode="legacy" if number % 2 else "auto")
            for number in range(10)]
        for program in programs:
            require("add" in stage.line(program)["ready"], "no tools")
        require(len(stage.pages) == 1 and stage.strict.sign_ins == 1, f"{len(stage.pages)} pages, {stage.strict.sign_ins} sign-ins")
        doomed = stage.client([["add", dict(a=1, b=1)]], seconds=seconds)
        stage.line(doomed)
        for _ in range(3):
            time.sleep(life / 2)
            for process in subprocess.run(["pgrep", "-P", str(doomed.pid)], capture_output=True, text=True).stdout.split():
                os.kill(int(process), signal.SIGKILL)
            doomed.kill()
            doomed = stage.client([["add", dict(a=1, b=1)]], seconds=seconds)
            stage.line(doomed)
        results = [stage.line(program) for program in programs]
        took = time.monotonic() - began
        lost = [error for result in results for error in result["errors"] + result["wrong"]]
        require(not lost, f"{len(lost)} lost: {lost[:3]}")
        require(stage.strict.reuses == 0 and not stage.strict.ended, f"{stage.strict.reuses} tokens were used twice")
        # A token is replaced some time before it ends.
        most = took / (life * 0.6) + 2
        require(1 <= stage.strict.refreshes <= most, f"{stage.strict.refreshes} refreshes in {took:.0f} s")
        require(len(stage.pages) == 1, f"{len(stage.pages)} pages")
        return f"{sum(result['count'] for result in results)} calls, {stage.strict.refreshes} refreshes in {took:.0f} s, one page"
    finally:
        stage.stop()


@with_stage
def sign_out(stage):
    """A sign-out is told to a running bridge's client; after a sign-in the same bridge works."""
    program = stage.client([["echo", dict(text="hi")]] * 3, waits=True)
    stage.line(program)

    def call():
        program.stdin.write("\n")
        program.stdin.flush()
        return stage.line(program)["told"]
    require(call() == "hi", "no answer")
    status = json.loads(stage.command("status", "--json").stdout)
    require([each["url"] for each in status.get("programs", [])] == [stage.url], f"status: {status}")
    done = stage.command("logout", "--all")
    require(done.returncode == 0, done.stderr)
    refused = call()
    require("handstamp" in refused and "login" in refused, f"after the sign-out: {refused}")
    require(len(stage.pages) == 1, "a page was opened")
    done = stage.command("mcp", "login", stage.url)
    require(done.returncode == 0 and len(stage.pages) == 2, f"{done.stderr} {stage.pages}")
    require(call() == "hi", "no answer after the sign-in")
    return "refused with the next step, and works after the next sign-in"


@with_stage
def more_access(stage):
    """A tool that needs another scope opens one page, and works afterwards."""
    program = stage.client([["write", dict(text="x")]] * 40, waits=True)
    stage.line(program)

    def call():
        program.stdin.write("\n")
        program.stdin.flush()
        return stage.line(program)["told"]
    refused = call()
    require("more access" in refused and "write" in refused, f"the first time: {refused}")
    until(lambda: call() == "written x", "no access after the page", 20, 0.2)
    require(len(stage.pages) == 2 and "read" in stage.pages[1] and "write" in stage.pages[1], f"pages: {stage.pages}")
    return "one page with both scopes"


@with_stage
def restart(stage):
    """The server forgets its sessions: the client goes on."""
    for mode in ["legacy", "auto"]:
        program = stage.client([["echo", dict(text="hi")]] * 2, waits=True, mode=mode)
        stage.line(program)
        for _ in range(2):
            program.stdin.write("\n")
            program.stdin.flush()
            told = stage.line(program)["told"]
            require(told == "hi", f"{mode}: {told}")
            stage.remote.kill()
            stage.remote.wait()
            stage.start()
    return "with sessions, and without"


@with_stage
def large(stage):
    """Large messages in both directions."""
    text = "ä" * (3 << 20)
    result = None
    program = stage.client([["echo", dict(text="ä")]], mode="legacy", times=200 << 10)
    stage.line(program)
    result = stage.line(program)
    require(result["count"] == 1 and not result["errors"], f"{result['errors']}")
    done = subprocess.run(stage.bridge(), input='{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + text + '\n', env=stage.environment, capture_output=True,
                          text=True, timeout=60)
    require("-32700" in done.stdout, f"half a line: {done.stdout[:300]}")
    return "400 KB as text; half a line has a parse error"


def own_server():
    """Handstamp's own server issues the tokens: a token for the remote server alone, which the session's own token does not open."""
    def prepare(url):
        provider = Provider()
        provider.add("agent", "--name", "The agent", "--is-public", "--redirect-uri", "http://127.0.0.1/callback",
                     *[part for scope in ["openid", "profile", "offline_access"] for part in ("--scope", scope)])
        secret = provider.add("remote", "--redirect-uri", "http://127.0.0.1:9/")
        change(provider, "agent", audiences=[url])
        change(provider, "remote", introspects=True)
        provider.start("--access-token-life", "10s")
        return provider.issuer, dict(MCP_SECRET=secret, MCP_SCOPE="profile")
    stage = Stage(prepare=prepare)
    try:
        programs = [stage.client([["add", dict(a=1, b=number)]], right=[str(1 + number)], seconds=seconds) for number in range(3)]
        for program in programs:
            stage.line(program)
        results = [stage.line(program) for program in programs]
        lost = [error for result in results for error in result["errors"] + result["wrong"]]
        require(not lost and len(stage.pages) == 1, f"{lost[:3]} {stage.pages}")
        status = stage.command("status", "--verify")
        require(status.returncode == 0, f"the session's own token: {status.stdout} {status.stderr}")
        return f"{sum(result['count'] for result in results)} calls with tokens of 10 s, one page"
    finally:
        stage.stop()


@with_stage
def speed(stage):
    """A message through the bridge, and without it, by the same client."""
    calls, told = [["add", dict(a=1, b=1)]], []
    stage.line(stage.client(calls))
    token = stage.command("token").stdout.strip()
    for more in [dict(), dict(through=stage.url, token=token)] * 2:
        stage.line(program := stage.client(calls, seconds=seconds / 4, pause=0, **more))
        told.append(stage.line(program))
        require(not told[-1]["errors"], f"{told[-1]['errors'][:1]}")
    bridged, direct = min(told[0]["median"], told[2]["median"]), min(told[1]["median"], told[3]["median"])
    require(limit == None or bridged - direct <= limit, f"{bridged:.2f} ms, and {direct:.2f} ms without the bridge")
    return f"{bridged:.2f} ms at the median, {direct:.2f} ms without the bridge"


def main(options):
    global seconds, limit
    seconds, limit = 8 if options.short else 20, options.limit
    report = Report([storm, sign_out, more_access, restart, large, own_server, speed], options.names)
    if words := report.unknown():
        sys.exit("mcp: " + words)
    server.PROGRAM = os.path.abspath(build.program())
    return report.run_all()
