"""Builds and runs an external package, Examples/Outside, against a clone of this one, by URL and version.

Resolves it without traits and with each one, and compares the fetched packages with Examples/Outside/fetched; builds and runs it without traits and
with all. The dependencies may be built already, the modules of this package must not."""
import difflib, glob, os, pathlib, re, shutil, subprocess, sys, time, types
import urllib.parse

from kit import build, server, stages
from kit.web import Client, Person, bearer, call, fields, install, require, until

NEEDS = ["--tests"]
WORK = ".build/outside"


def options(parser):
    parser.add_argument("--short", action="store_true", help="only what is without traits: the fetched packages and the plain client")
    parser.add_argument("--deep", action="store_true", help="also build it with each trait alone")


def git(*words, **surroundings):
    return subprocess.run(["git", *words], env={**os.environ, **surroundings}, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def clone():
    """The working tree's content, committed or not, under a version that SwiftPM cannot have cached."""
    for name in ("handstamp", "resolve", "Outside/Sources", "data", "programs"):
        shutil.rmtree(f"{WORK}/{name}", ignore_errors=True)
    for name in ("Outside", "bin", "data", "programs"):
        os.makedirs(f"{WORK}/{name}", exist_ok=True)
    index = dict(GIT_INDEX_FILE=os.path.abspath(WORK + "/index"))
    git("read-tree", "HEAD", **index)
    git("add", "-A", **index)
    commit = git("-c", "user.name=outside", "-c", "user.email=outside@localhost", "commit-tree", git("write-tree", **index), "-m", "The checked state")
    git("init", "-q", "--bare", WORK + "/handstamp")
    git("push", "-q", WORK + "/handstamp", f"{commit}:refs/heads/main", f"{commit}:refs/tags/0.1.{int(time.time())}")
    shutil.copy("Examples/Outside/Package.swift", WORK + "/Outside/Package.swift")
    shutil.copytree("Examples/Outside/Sources", WORK + "/Outside/Sources")


class Package:
    def __init__(self):
        manifest = pathlib.Path("Examples/Outside/Package.swift").read_text()
        self.traits = re.findall(r'"([A-Za-z]+)"', re.search(r"^let traits.*?\]", manifest, re.M | re.S)[0])
        self.environment = dict(build.environment(False), HANDSTAMP_URL="file://" + os.path.abspath(WORK + "/handstamp"))

    def forget(self):
        pathlib.Path(WORK, "Outside/Package.resolved").unlink(missing_ok=True)

    def resolve(self, traits):
        """What SwiftPM fetches with each trait alone, and without any."""
        found = ""
        for trait in ["none", *traits]:
            self.forget()
            text = subprocess.run(
                [build.SWIFT, "package", "--quiet", "--package-path", WORK + "/Outside", "--scratch-path", WORK + "/resolve",
                 *(["--traits", trait] if trait != "none" else []), "show-dependencies", "--format", "flatlist"],
                env=self.environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            found += " ".join([f"{trait}:", *sorted(set(text.split()))]) + "\n"
        shutil.rmtree(WORK + "/resolve")
        self.forget()
        known, found = pathlib.Path("Examples/Outside/fetched").read_text().splitlines(True), found.splitlines(True)
        if changes := list(difflib.unified_diff(known if traits else known[:1], found, "Examples/Outside/fetched", "now")):
            if traits:
                pathlib.Path(WORK, "fetched").write_text("".join(found))
            hint = f"cp {WORK}/fetched Examples/Outside/fetched" if traits else "scripts/dev outside"
            sys.exit("".join(changes) + f"the fetched packages have changed\nhint: if that is intended: {hint}")

    def build(self, words, *options, scratch=None, **more):
        """Returns the folder, and what the build said."""
        place = [*build.PACKAGE[:-2], "--scratch-path", os.path.abspath(scratch or build.TOGETHER), "--package-path", WORK + "/Outside"]
        show = [build.SWIFT, "build", *place, *options, "--show-bin-path"]
        bin = subprocess.run(show, env=self.environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        if not scratch:
            for path in [path for kind in ("Modules/Handstamp*", "Handstamp*", "CHandstamp*") for path in glob.glob(f"{bin}/{kind}")]:
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        build.run("outside", [*place, *options], {**self.environment, **more}, words)
        return bin, pathlib.Path(stages.LOGS, "outside.log").read_text()

    def build_plain(self):
        """Without the system libraries' pkg-config files: a plain app needs none of them, and gets no warning about them."""
        tool = pathlib.Path(WORK, "bin/pkg-config").absolute()
        tool.write_text("#!/bin/sh\necho /nonexistent\n")
        tool.chmod(0o755)
        self.forget()
        bin, text = self.build("without traits", PATH=f"{tool.parent}:{os.environ['PATH']}")
        # Remarks about options of this build, which no app has, do not count.
        warned = [line for line in text.split("\n") if re.search("warning:|you may be able to install", line) and "ignoring '-enable-batch-mode" not in line]
        if warned:
            sys.exit("\n".join(warned) + "\na plain app gets a warning")
        keep(bin, "PlainClient")


def keep(bin, *programs):
    """Programs that the next build would replace."""
    for name in programs:
        shutil.copy(f"{bin}/{name}", f"{WORK}/programs/{name}")


class Program:
    """One of them; its output so far is in a file."""

    def __init__(self, name, *arguments):
        self.name, self.output = name, f"{WORK}/data/{name}.output"
        with open(self.output, "w") as file:
            self.process = subprocess.Popen([f"{WORK}/programs/{name}", *arguments], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                            env=dict(os.environ, XDG_STATE_HOME=os.path.abspath(WORK + "/data/state")))

    def text(self):
        return pathlib.Path(self.output).read_text()

    def line(self, start):
        """What follows on the line that begins so, once it is there."""
        return until(lambda: re.search(rf"^{start}(.*)\n", self.text(), re.M), lambda: f"no line of {self.name} begins with {start}: {self.text()}")[1]

    def ended(self, *expected):
        require(self.process.wait(60) == 0, f"{self.name} failed: {self.text()}")
        for words in expected:
            require(words in self.text(), f"missing in the output of {self.name}: {words}\n{self.text()}")
        return self.text()


def use_transports(url):
    """The browser returns with a denial."""
    app = Program("Transports", url + "/auth", WORK + "/data/database")
    page = app.line("open ")
    asked = fields(page)
    require(call("GET", page).status == 200, f"no page at {page}")
    call("GET", asked["redirect_uri"] + "?" + urllib.parse.urlencode(dict(error="access_denied", state=asked["state"], iss=url + "/auth")))
    app.ended("signed in: true", "database: database", "no WebSocket here:", "access_denied")
    require(any(os.path.getsize(path) for path in glob.glob(WORK + "/data/database/*.sqlite")), "no database")


def use_command_line_app(url):
    """The user signs in on the server's page, enters the code and allows the access; a kept session needs none of that."""
    app = Program("CommandLineApp", url + "/auth", WORK + "/data/kept")
    # Open ADDRESS on any device and enter the code CODE.
    address, *_, code = app.line("open ").split()
    person = Person("ada@example.org", "correct horse")
    page = person.open(address)
    for title, action, typed in (("Connect a device", "sign-in", dict(email=person.email, password=person.password)),
                                 ("Allow command-line-app to access your account?", "look", dict(user_code=code)),
                                 ("Your device is connected", "allow", dict(user_code=code))):
        page = person.submit(page, action, **typed)
        require(page.title.startswith(title), f"not the page {title}: {page.title} {page.text[:500]}")
    app.ended("signed in as Ada")
    again = Program("CommandLineApp", url + "/auth", WORK + "/data/kept").ended("the kept session has a valid token", "signed in as Ada")
    require(not re.search("^open ", again, re.M), f"a kept session asks for another sign-in: {again}")


def use_own_routes(client):
    """The app's own routes, and sign-in at its own accounts. Returns the user, whose session has ended."""
    require("anyone may read this" in client.get("/").text, "another page")
    require(client.get("/notes").error == "token_missing", "another error")
    session = client.post("/auth/v1/sign-in", dict(email="ada@example.org", password="correct horse", device=install("curl"))).json
    user, token = session["profile"]["id"], bearer(session)
    require(f"the notes of {user}" in client.get("/notes", Authorization=token).text, "another user's notes")
    require(client.post("/auth/v1/sign-out", Authorization=token).status == 204, "no sign-out")
    require(client.get("/notes", Authorization=token).error == "session_ended", "the session goes on")
    return user


def run_embedded():
    port = server.free_port()
    url = f"http://127.0.0.1:{port}"
    embedded = Program("EmbeddedServer", WORK + "/data/server", str(port))
    try:
        until(lambda: call("GET", url + "/auth/health").status == 200, lambda: f"the embedded server does not start: {embedded.text()}")
        Program("PlainClient", url + "/auth").ended("signed in: true", "signed in: false")
        use_transports(url)
        use_command_line_app(url)
        user = use_own_routes(Client(types.SimpleNamespace(port=port)))
        # A signal stops the app, which has heard of the user's session.
        embedded.process.terminate()
        embedded.ended(f"session-established {user}", f"session-revoked {user} signed_out")
    finally:
        embedded.process.kill()


def main(options):
    clone()
    package = Package()
    package.resolve([] if options.short else package.traits)
    if options.short:
        package.build_plain()
        # In CI the program is there.
        server.PROGRAM = build.given or build.IN_CI and os.path.exists(".build/debug/handstamp") and ".build/debug/handstamp" or build.program()
        here = server.Server()
        try:
            here.launch("--sign-up", "open")
            Program("PlainClient", here.url).ended("signed in: true", "signed in: false")
        finally:
            server.remove_all()
        return print("built and ran a plain client without warnings")
    # First with all, because SwiftPM removes what a build without traits does not fetch.
    bin, _ = package.build("with all traits", "--enable-all-traits")
    keep(bin, "EmbeddedServer", "Transports", "CommandLineApp")
    package.build_plain()
    for trait in package.traits if options.deep else []:
        # Without any module of another build.
        package.forget()
        package.build(f"with {trait} alone", "--traits", trait, scratch=WORK + "/build")
    run_embedded()
    print("ran a plain client, an embedded server, other transports and a command-line app")
