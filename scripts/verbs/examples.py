"""Builds the examples that depend on this checkout, compares README and guides with them, and runs the README's against a server.

Examples/Outside depends on a clone: see `scripts/dev outside`. The Nth Swift block of a page is the Nth file; further blocks are the page's own.
`scripts/dev docs` compiles the code of QuickStart.md."""
import difflib, os, re, subprocess, sys

from kit import build, server
from kit.web import Client

QUICKSTART, GUIDES, EMBEDDED = "Examples/Quickstart/Sources", "Sources/Handstamp/Handstamp.docc", "Examples/Outside/Sources/EmbeddedServer/EmbeddedServer.swift"
SIGN_IN = "Tests/HandstampServerTests/Guides/SignInApp.swift"


def options(parser):
    parser.add_argument("--pages", action="store_true", help="only compare README and guides")
    parser.add_argument("--update", action="store_true", help="only copy the examples into README and guides")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def embedded(path=EMBEDDED):
    """Without the conditions, which a package that always has the traits does not need."""
    lines = read(path).split("\n#else\n")[0].rstrip("\n").split("\n")
    return "\n".join(line for line in lines if not line.startswith("#")) + "\n"


def pages():
    """Each page with the code that it has to have."""
    return {
        "README.md": read(QUICKSTART + "/Quickstart/main.swift"),
        "Examples/Quickstart/README.md": read(QUICKSTART + "/Errors/main.swift"),
        GUIDES + "/YourOwnServer.md": read("Tests/HandstampTests/Guides/MyServer.swift"),
        "Sources/HandstampVaults/HandstampVaults.docc/YourOwnVault.md": read("Tests/HandstampTests/Guides/FolderVault.swift"),
        "docs/embedding.md": embedded(),
        "docs/relying-party.md": embedded(SIGN_IN),
        GUIDES + "/FromSupabase.md": read("Tests/HandstampTests/Guides/SupabaseBackend.swift"),
        GUIDES + "/FromAuth0.md": read("Tests/HandstampOAuthTests/Guides/Auth0Forum.swift"),
    }


def with_code(page, code):
    """The page with the code in its first Swift block."""
    parts = re.split(r"(?m)^```swift\n(.*?)^```$", page, maxsplit=1, flags=re.S)
    if len(parts) != 3:
        sys.exit("examples: a page has no Swift block")
    return f"{parts[0]}```swift\n{code}```{parts[2]}"


def too_long(name, code, most, columns):
    """Examples stay short: so many lines that are neither blank nor comments, so many columns."""
    lines = code.rstrip("\n").split("\n")
    yield from (f"{name}:{number}: more than {columns} columns" for number, line in enumerate(lines, 1) if len(line) > columns)
    count = sum(not re.fullmatch(r"[ \t]*(//.*)?", line) for line in lines)
    if count > most:
        yield f"{name}: {count} lines of code, more than {most}"


def compare():
    failed = []
    for path, code in pages().items():
        page = read(path)
        failed += difflib.unified_diff(page.splitlines(), with_code(page, code).splitlines(), path, "its example", lineterm="")
    section = read(GUIDES + "/QuickStart.md").split("\n## Sign in at an OAuth server\n")[-1].split("\n## ")[0]
    oauth = "".join(re.findall(r"(?ms)^```swift\n(.*?)^```$", section))
    for name, code, most, columns in (
        ("Quickstart", read(QUICKSTART + "/Quickstart/main.swift"), 10, 100), ("Errors", read(QUICKSTART + "/Errors/main.swift"), 20, 100),
        ("QuickStart.md", oauth, 20, 100), ("MyServer.swift", read("Tests/HandstampTests/Guides/MyServer.swift"), 60, 120),
        ("FolderVault.swift", read("Tests/HandstampTests/Guides/FolderVault.swift"), 60, 120), ("EmbeddedServer.swift", embedded(), 60, 120), ("SignInApp.swift", embedded(SIGN_IN), 20, 120),
    ):
        failed += too_long(name, code, most, columns) if code else [f"{name} has no Swift code"]
    if failed:
        sys.exit("\n".join(failed) + "\nhint: scripts/dev examples --update")


class Home:
    """The README's programs, with a home of their own."""

    def __init__(self, folder, bin, url):
        self.state, self.bin, self.url = folder + "/state", bin, url
        os.makedirs(self.state)
        self.environment = dict(os.environ, HANDSTAMP_HOME=folder + "/home", XDG_STATE_HOME=self.state)

    def run(self, name, expected):
        done = subprocess.run([f"{self.bin}/{name}", self.url], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        if done.returncode or expected not in done.stdout:
            sys.exit(f"{done.stdout}\n{name} failed, or its output lacks: {expected}")


def main(options):
    if options.update:
        for path, code in pages().items():
            made = with_code(read(path), code)
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)
        return 0
    compare()
    if options.pages:
        return 0
    # In CI the program is there; its modules give way to those of the examples, and the forum reader is built with its tests.
    built = os.path.abspath(".build/debug/handstamp")
    if build.IN_CI and not build.given and os.path.exists(built):
        build.given = built
    server.PROGRAM = build.program()
    for example in ["Quickstart"] if build.IN_CI else ["ForumReader", "Quickstart"]:
        place = build.build("examples", "--package-path", "Examples/" + example, *build.PACKAGE, is_optimized=False, words=f"Examples/{example}")
    here = server.Server()
    try:
        here.launch()
        Client(here).sign_up("ada@example.org", "correct horse")
        home = Home(here.folder, place, here.url)
        home.run("Quickstart", "Hello, Ada")
        if not os.listdir(home.state + "/Quickstart/vault"):
            sys.exit("the quick start's session was not kept")
        home.run("Quickstart", "Hello, Ada")
        home.run("Errors", "code: wrong_credentials, next step: none")
    finally:
        server.remove_all()
    print("ran the README's examples against a server")
    return 0
