"""Builds Examples/Quickstart and Examples/Documents, runs their programs against servers, and compares README and guides with the examples.

Examples/Outside depends on a clone: see `scripts/dev outside`. The first Swift block of a page is its example; further blocks are the page's own.
`scripts/dev docs` compiles the code of QuickStart.md."""
import difflib, glob, os, pathlib, re, subprocess, sys

from kit import build, server
from kit.web import Client
from verbs.forum import Forum

GUIDES = "Sources/Client/Handstamp/Handstamp.docc"
# Each page with its example, which stays short: so many lines that are neither blank nor comments, so many columns.
EXAMPLES = {
    "README.md": ("Examples/Quickstart/Sources/Quickstart/main.swift", 10, 100),
    GUIDES + "/YourOwnServer.md": ("Tests/Client/HandstampTests/Guides/MyServer.swift", 60, 120),
    "Sources/Client/Handstamp/Handstamp.docc/YourOwnVault.md": ("Tests/Client/HandstampTests/Guides/FolderVault.swift", 60, 120),
    "docs/embedding.md": ("Examples/Outside/Sources/EmbeddedServer/EmbeddedServer.swift", 60, 120),
    "docs/relying-party.md": ("Tests/Server/HandstampServerTests/Guides/SignInApp.swift", 20, 120),
    GUIDES + "/FromSupabase.md": ("Tests/Client/HandstampTests/Guides/SupabaseBackend.swift", 100, 128),
    GUIDES + "/FromAuth0.md": ("Tests/Client/HandstampOAuthTests/Guides/Auth0Forum.swift", 60, 120),
}


def options(parser):
    parser.add_argument("--update", action="store_true", help="only copy the examples into README and guides")


def code(example):
    """Without the conditions, which a package that always has the traits does not need."""
    lines = pathlib.Path(example).read_text().split("\n#else\n")[0].rstrip("\n").split("\n")
    return "\n".join(line for line in lines if not line.startswith("#")) + "\n"


def with_code(page, code):
    """The page with the code in its first Swift block."""
    parts = re.split(r"(?m)^```swift\n(.*?)^```$", page, maxsplit=1, flags=re.S)
    if len(parts) != 3:
        sys.exit("examples: a page has no Swift block")
    return f"{parts[0]}```swift\n{code}```{parts[2]}"


def too_long(name, code, most, columns):
    lines = code.rstrip("\n").split("\n")
    yield from (f"{name}:{number}: more than {columns} columns" for number, line in enumerate(lines, 1) if len(line) > columns)
    count = sum(not re.fullmatch(r"[ \t]*(//.*)?", line) for line in lines)
    if count > most:
        yield f"{name}: {count} lines of code, more than {most}"


def compare():
    section = pathlib.Path(GUIDES, "QuickStart.md").read_text().split("\n## Sign in at an OAuth server\n")[-1].split("\n## ")[0]
    oauth = "".join(re.findall(r"(?ms)^```swift\n(.*?)^```$", section))
    failed = [*too_long("QuickStart.md", oauth, 20, 100)] if oauth else ["QuickStart.md has no Swift code"]
    for app in pathlib.Path("Examples/Documents/Sources").iterdir():
        if sum(len(file.read_text().splitlines()) for file in app.glob("*.swift")) > 120:
            failed.append(f"{app}: more than 120 lines")
    for path, (example, most, columns) in EXAMPLES.items():
        page = pathlib.Path(path).read_text()
        failed += difflib.unified_diff(page.splitlines(), with_code(page, code(example)).splitlines(), path, "its example", lineterm="")
        failed += too_long(example, code(example), most, columns)
    if failed:
        sys.exit("\n".join(failed) + "\nhint: scripts/dev examples --update")


def run(place, name, url, home):
    """The program says what comments beside its calls of print promise."""
    environment = dict(os.environ, HANDSTAMP_HOME=home, HOME=home, **{f"XDG_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("STATE", "DATA", "CONFIG")})
    done = subprocess.run([f"{place}/{name}", url], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    promised = [line for path in glob.glob(f"Examples/*/Sources/{name}/*.swift") for line in re.findall(r"\bprint\(.*\)  // (.*)", pathlib.Path(path).read_text())]
    if done.returncode or not promised or any(line not in done.stdout for line in promised):
        sys.exit(f"{done.stdout}\n{name} failed, or its output lacks one of: {promised}")


def main(options):
    if options.update:
        for path, (example, _, _) in EXAMPLES.items():
            path = pathlib.Path(path)
            path.write_text(with_code(path.read_text(), code(example)))
        return 0
    compare()
    # In CI the programs are there; their modules give way to those of the examples.
    built = os.path.abspath(".build/debug/handstamp")
    if build.IN_CI and not build.given and os.path.exists(built):
        build.given = built
    server.PROGRAM, site = build.programs("handstamp", "HandstampForumServer")
    for example in ("Documents", "Quickstart"):
        place = build.build("examples", "--package-path", "Examples/" + example, *build.PACKAGE, is_optimized=False, words=f"Examples/{example}")
    here = server.Server()
    home = here.folder + "/home"
    try:
        here.launch()
        Client(here).sign_up("ada@example.org", "correct horse")
        os.makedirs(home + "/state")
        for name in ("Quickstart", "Quickstart", "SeveralAccounts", "Audited", "Guests"):
            run(place, name, here.url, home)
            if not os.listdir(home + "/state/Quickstart/vault"):
                sys.exit("the quick start's session was not kept")
        forum = Forum(site, sessions="former 42")
        for name in ("Dashboard", "Board"):
            run(place, name, forum.url + "/", home)
    finally:
        server.remove_all()
    print("ran the README's example, and those of Examples/Documents, against servers")
