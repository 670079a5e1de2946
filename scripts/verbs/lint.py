"""Checks the format, a few rules that no compiler checks, and the library of these scripts."""
import glob, os, re, subprocess, sys, unittest

from kit import build, expectations, platforms, recipes, xcode
from verbs import format

def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def tracked():
    return [path for path in subprocess.run(["git", "ls-files"], stdout=subprocess.PIPE, text=True).stdout.split("\n") if os.path.isfile(path)]


def swift(*folders):
    return [path for folder in folders for path in sorted(glob.glob(folder + "/**/*.swift", recursive=True))]


def lines(paths, pattern, unless=None):
    """The lines of these files that have the pattern, and not the other one."""
    wanted, unwanted = re.compile(pattern), unless and re.compile(unless)
    for path in paths:
        for number, line in enumerate(read(path).split("\n"), 1):
            if wanted.search(line) and not (unwanted and unwanted.search(line)):
                yield f"{path}:{number}: {line.strip()}"


def unexplained():
    for path in swift("Sources"):
        before = ""
        for number, line in enumerate(read(path).split("\n"), 1):
            if re.search(r"@unchecked Sendable|nonisolated\(unsafe\)", line) and "//" not in before:
                yield f"{path}:{number}"
            before = line


def untraited():
    """A condition on a trait that Package.swift does not have leaves out its code in every build."""
    known = {*re.findall(r'\.trait\(\s*name: "(\w+)"', read("Package.swift")), "DEBUG"}
    for line in lines(swift("Sources", "Tests"), r"^ *#(if|elseif) "):
        names = re.findall(r"\b[A-Z]\w+", re.sub(r"\w+\([^)]*\)", "", line.split("#", 1)[1]))
        if set(names) - known:
            yield line


def unlimited():
    for path in swift("Tests", "Examples/*/Tests"):
        for found in re.finditer(r"^(?:@MainActor )?@Suite.*(?:(?<=\()\n.*)?", read(path), re.M):
            if "timeLimit" not in found[0]:
                yield f"{path}:{read(path).count(chr(10), 0, found.start()) + 1}"


def unknown_suites():
    """The table of features names suites by file or target."""
    files = "\n".join(tracked())
    for name in sorted(set(re.findall(r"`([A-Z][A-Za-z]+Tests)`", read("docs/features.md")))):
        if not re.search(rf"(^|/){name}(\.swift|/)", files, re.M):
            yield name


def unknown_tests():
    """The table names tests in quotation marks, at least by their first words."""
    known = "\n".join(name for path in swift("Tests", "Examples") for name in re.findall(r"(?:func|struct) (`[^`]+`)", read(path)))
    for name in re.findall(r'"([^"]+)"', re.sub("`.*?`", "", read("docs/asvs.md"))):
        if "`" + name.rstrip("…") not in known:
            yield name


CALL = re.compile(r"""[lL]ogger\??\.(?:(?:trace|debug|info|notice|warning|error|critical)\(|log\(\s*level: [^,]+,)\s*("[^"]+"|\w+)"""
                  r"""|logDoubt\(\s*("[^"]+")|lost: ("[^"]+")""")


def logged():
    """Every message and every action. Messages that are no constants where they are logged are found where they are named."""
    found = {"Audit"}
    for path in swift("Sources/Server/Handstamp[HPRSW]*", "Sources/Programs/HandstampOperator/Serve"):
        for call in CALL.finditer(read(path)):
            found.add(next(filter(None, call.groups())).strip('"'))
    for path in ("Sources/Server/HandstampHTTP/ThrottledLogger.swift", "Sources/Server/HandstampServer/Sessions/SessionEventRecorder.swift",
                 "Sources/Server/HandstampRegistry/Store/AuditedAction.swift"):
        found |= set(re.findall(r'^ *case .*[:=] "(.*)"$', read(path), re.M))
    return {each for each in found if not re.fullmatch(r"lost|message|\\\((text|event\.rawValue)\)", each)}


def documented():
    return {name for row in re.findall(r"^\| `.*$", read("docs/logs.md"), re.M) for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def prose(path):
    """Each line's comment, or its code spans in Markdown."""
    is_code = False
    for number, line in enumerate(read(path).split("\n"), 1):
        is_code ^= line.startswith("```")
        if is_code or line.startswith("```"):
            continue
        if path.endswith(".swift"):
            found = re.search(r"(^|[^:])(//.*)", line)
            yield number, line, found[2] if found else ""
        else:
            yield number, line, " ".join(line.split("`")[1:-1:2])


def dead_links():
    for path in tracked():
        if path.endswith(".md"):
            for _, line, _ in prose(path):
                for link in re.findall(r"\]\(([^)# ]+)", line):
                    if not re.match(r"[a-z]+:", link) and not os.path.exists(os.path.join(os.path.dirname(path), link)):
                        yield f"{path}: {link}"


def dead_names():
    """Files that comments and code spans name, at least by the end of a path."""
    files = "\n" + "\n".join(tracked()) + "\n"
    for path in tracked():
        if path.endswith((".swift", ".md")):
            for number, _, text in prose(path):
                for name in re.findall(r"[A-Za-z0-9_.+/-]+\.(?:md|swift|py|sh)(?![A-Za-z0-9_*])", text):
                    # In the guide to a new project.
                    if name.startswith("Sources/Hello/") or os.path.exists(os.path.join(os.path.dirname(path), name)):
                        continue
                    if f"\n{name}\n" not in files and f"/{name}\n" not in files:
                        yield f"{path}:{number}: {name}"


def dead_verbs():
    """What documents call by its name as one of these scripts."""
    verbs = {name[:-3].replace("_", "-") for name in os.listdir("scripts/verbs")}
    for path in tracked():
        if path.endswith((".md", ".swift", ".yml", ".txt")):
            for number, line in enumerate(read(path).split("\n"), 1):
                for verb in re.findall(r"scripts/dev ([a-z][a-z-]*)", line):
                    if verb not in verbs:
                        yield f"{path}:{number}: {verb}"


def unproven():
    """The table of verbs says what each alone proves."""
    rows = re.findall(r"^\| `([a-z-]+)` \|", read("docs/testing.md").split("## What each verb proves")[-1], re.M)
    return sorted({name[:-3].replace("_", "-") for name in os.listdir("scripts/verbs") if name.endswith(".py")} ^ set(rows))


def arrows():
    """The targets of products with what each imports: Package.swift against the table of ARCHITECTURE.md."""
    manifest, imports = read("Package.swift"), {}
    for target in re.split(r"\n  \.\w+\(", manifest)[1:]:
        if found := re.match(r'\s*name: "(\w+)"', target):
            imports[found[1]] = set(re.findall(r'"(C?Handstamp\w*)"', target)) - {found[1]}
    products, left = set(), build.libraries() + re.findall(r'targets: \["(\w+)"\]', manifest)
    while left:
        products.add(target := left.pop())
        left += imports[target] - products
    said = {name: set(row.split(", ")) - {"–"} for name, row in re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", read("ARCHITECTURE.md"), re.M)}
    for target in sorted(products | set(said)):
        known = imports.get(target, set()) - {"HandstampSupport"}
        known = {name.replace("Handstamp", "") or name for name in known}
        if target not in products or said.get(target) != known:
            yield f"{target}: {', '.join(sorted(known))}" if target in products else f"{target}: in no product"


def dead_in_workflows():
    """What the workflows of CI call or name: targets of make, files, folders of a build, suites, and options of verbs."""
    targets = re.findall(r"^([a-z-]+):", read("Makefile"), re.M)
    scripts = "\n".join(read(path) for path in glob.glob("scripts/verbs/*.py"))
    for path in sorted(glob.glob(".github/workflows/*.yml")):
        for number, line in enumerate(read(path).split("\n"), 1):
            dead = [name for name in re.findall(r"(?:run:|&&|^) *make ([a-z-]+)", line) if name not in targets]
            dead += [name for name in re.findall(r"(?<![\w./])(?:Sources|Tests|Examples|docs|packaging|scripts)/[\w./-]*\w", line) if not os.path.exists(name)]
            dead += [name for name in re.findall(r"\.build(?:/\w+)+(?=/|\s|$)", line) if f'"{name}"' not in scripts]
            dead += [name for name in re.findall(r"\b\w+Tests\b", line)
                     if not glob.glob("Tests/*/" + name) and not os.path.isdir("Examples/AppShell/Sources/" + name)]
            for verb, words in re.findall(r"scripts/dev ([a-z-]+)(.*)", line):
                file = f"scripts/verbs/{verb.replace('-', '_')}.py"
                dead += [name for name in re.findall(r"--[a-z-]+", words) if f'"{name}"' not in (read(file) if os.path.exists(file) else "")]
            yield from (f"{path}:{number}: {name}" for name in dead)


def rules():
    """Each rule, and what breaks it."""
    sources, tests = swift("Sources"), swift("Tests", "Examples/*/Tests")
    pure = [path for path in swift("Sources/Client/HandstampSupport", "Sources/Client/HandstampCore", "Sources/Server/HandstampRegistry") if "/Storage/" not in path]
    version = build.version()
    newest = re.search(r"^## .*$", read("CHANGELOG.md"), re.M)
    return {
        "no traps on what the world sends us": lines(sources, r"\b(fatalError|preconditionFailure)\b|\b(try!|as!)", "// traps:"),
        "no print in sources": lines(sources, r"^[^/]*\bprint\("),
        "Support, Core, and Registry without its Storage, work without Foundation": lines(
            pure, r"^\s*((public|internal|package) )?import (Foundation|FoundationEssentials|Dispatch|Network)"),
        "the listener knows nothing of sessions, and no path": lines(
            glob.glob("Sources/Server/HandstampHTTP/*.swift"),
            r'\b(SessionServer|ServerConfiguration|ServerContext|Registry\w*|RouteTable)\b|"/[a-z]', "^ *//"),
        "unchecked needs its reason on the line above": unexplained(),
        "not before macOS 15 (Mutex, Atomic): use Locked": (line for line in lines(
            swift("Sources", "Tests"), r"^ *(public |package |private )?import Synchronization")
            if not line.startswith("Sources/Client/HandstampSupport/Concurrency/Locked.swift:")),
        "a later release of Apple's in a comment of a stand-in, and in no attribute": (
            f"{path}:{number}" for path in swift("Tests/AppleStubs") for number in platforms.unstated(read(path))),
        "tests poll by othersFirst(until:), which ends with its task": lines(tests, r"while .*\{ await (othersFirst|Task\.yield)\(\) \}"),
        "tests do not sleep": lines(tests, r"Task\.sleep|usleep\(|Thread\.sleep|[^.]\bsleep\([0-9]"),
        "conditions name traits of Package.swift": untraited(),
        "suites have a time limit, which nested ones inherit": unlimited(),
        "tests without an expectation": expectations.missing(),
        "docs/features.md names tests that do not exist": unknown_suites(),
        "docs/asvs.md names tests that do not exist": unknown_tests(),
        "logged, and not in docs/logs.md": sorted(logged() - documented()),
        "in docs/logs.md, and never logged": sorted(documented() - logged()),
        "ARCHITECTURE.md differs from Package.swift (target: what it imports)": arrows(),
        "links to files that do not exist": dead_links(),
        "names files that do not exist": dead_names(),
        "names verbs of scripts/dev that do not exist": dead_verbs(),
        "names in a workflow what does not exist": dead_in_workflows(),
        "the Xcode project of Examples/AppShell, or its workflow": xcode.problems(),
        "nginx or Caddy refuses a configuration in docs": recipes.refused(),
        "the changelog does not begin with the version in Sources/Programs/HandstampCommandLine/Version.swift":
            [] if newest and re.fullmatch(rf"## {re.escape(version)}( - \d{{4}}-\d\d-\d\d)?", newest[0]) else [newest and newest[0]],
        "secrets": lines(
            (path for path in tracked() if not path.startswith(("Tests/", "scripts/verbs/lint.py"))),
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s*$|\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{36}|\bxox[abprs]-\w{10}"),
        "paths of one machine": lines(tracked(), r"(?<![\w.}])/(work|Users/\w+|home/(?!\.\.\.)\w+)/(main|Documents|src)\b"),
        "verbs without a row in docs/testing.md, or the reverse": unproven(),
        "never committed": [path for path in tracked() if re.search(r"(^|/)Package\.resolved$|(^|/)\.build", path)],
    }


def options(parser):
    parser.add_argument("--rules", action="store_true", help="only the rules")


def main(options):
    failed = False
    for title, broken in rules().items():
        if broken := list(broken):
            print(f"{title}:", *broken, sep="\n  ", file=sys.stderr)
            failed = True
    if options.rules:
        return 1 if failed else 0
    tests = unittest.defaultTestLoader.loadTestsFromName("kit.test_kit")
    failed |= not unittest.TextTestRunner(verbosity=0).run(tests).wasSuccessful()
    if subprocess.run([build.SWIFT, "format", "lint", "--strict", "--recursive", "--parallel", *format.SOURCES]).returncode:
        failed = True
    return 1 if failed else 0
