"""Counts what `import Handstamp` shows, from the compiler's symbol graphs, and compares it with docs/api.txt. Compares docs/api/ likewise: the
declarations of each product that apps import, with those that only Apple's platforms have, from the modules of `scripts/dev apple`.

A declaration counts unless it is a type alias, is synthesised by the compiler, or only satisfies a protocol of another package
(Hashable, Codable, CustomStringConvertible, AsyncSequence with its iterator, LocalizedError and so on). Enum cases count."""
import difflib, glob, os, pathlib, re, sys

from kit import build, declarations
from verbs import apple, docs

TYPES, DECLARATIONS = 150, 817
FOLDER = apple.FOLDER
DIGEST, LISTS = "docs/api.txt", "docs/api"
# Those that an app's targets link. Of Handstamp itself, docs/api.txt has all but what is Apple's alone.
PRODUCTS = ["HandstampUI", "HandstampOAuth", "HandstampTesting", "HandstampCookies", "HandstampData", "HandstampKeys", "HandstampTransports",
            "HandstampVerifier"]


def modules():
    """Handstamp, and the modules that it exports."""
    exported = (re.findall(r"^@_exported public import (Handstamp\w+)", pathlib.Path(path).read_text(), re.M) for path in apple.sources("Sources/Client/Handstamp"))
    return sorted({name for names in exported for name in names}) + ["Handstamp"]


def options(parser):
    parser.add_argument("--update", action="store_true", help="write docs/api.txt and docs/api/")


def digest():
    """What `import Handstamp` shows on Linux: its graphs, how many types and other declarations count, and a line for each."""
    place = os.path.dirname(build.given) if build.given else build.build("build", *build.ALL, "--target", "HandstampUI")
    found = list(declarations.graphs(["-I", place + "/Modules", "-target", build.target()[0], *apple.module_maps()], modules()))
    types, count, lines = set(), 0, set()
    protocols = declarations.conformances(found, declarations.paths(found))
    for symbol in declarations.symbols(found):
        text = declarations.plain(symbol.text)
        if symbol.kind in declarations.NOMINAL:
            types.add((symbol.module, symbol.path))
            text += declarations.beside(text, protocols[symbol.path])
        else:
            count += 1
        lines.add(f"{'.'.join(symbol.path)} — {text}")
    return found, len(types), count, sorted(lines)


def lists(linux):
    """Path and text of each list."""
    found = list(declarations.graphs(["-target", build.target()[0], *apple.arguments()], modules() + PRODUCTS))
    names, known = declarations.paths(found), declarations.paths(linux)
    for product in PRODUCTS:
        yield f"{LISTS}/{product}.txt", declarations.listing(product + ", on all platforms", [each for each in found if each[0] == product], names)
    for _, graph in found:
        graph["symbols"] = [symbol for symbol in graph["symbols"] if symbol["identifier"]["precise"] not in known]
        graph["relationships"] = [each for each in graph["relationships"] if each["source"] not in known]
    yield f"{LISTS}/Handstamp.txt", declarations.listing(
        f"What import Handstamp has on Apple's platforms beside {DIGEST}", [each for each in found if each[0] in modules()], names)


def has_changed(path, text, is_update):
    """Whether a file is not as it should be; writes it if asked to."""
    path = pathlib.Path(path)
    if is_update:
        path.write_text(text)
    known = path.read_text() if path.exists() else ""
    changes = list(difflib.unified_diff(known.split("\n"), text.split("\n"), str(path), "now", lineterm="", n=0))
    print("\n".join(changes[:200]) if changes else f"{path} is up to date")
    if changes:
        print(f"hint: run scripts/dev api --update and commit {path}", file=sys.stderr)
    return bool(changes)


def hidden():
    """Moving a type is no way out: what app authors are shown imports Handstamp, and products with a purpose of their own."""
    for path in ["README.md", *glob.glob("docs/*.md"), *glob.glob("Sources/Client/Handstamp/Handstamp.docc/*.md"),
                 *glob.glob("docs/snippets/*.swift"), *glob.glob("Examples/*/Sources/**/*.swift", recursive=True)]:
        text = pathlib.Path(path).read_text()
        # Servers have no use for the client.
        if "import HandstampServer" not in text:
            yield from (f"{path}: app authors import Handstamp, not {name}" for name in re.findall(
                r"^\s*(?:public |package )?import (HandstampCore)\b", text, re.M))


def main(options):
    found, types, count, lines = digest()
    print(f"what import Handstamp shows: {types} types, at most {TYPES}; {count} declarations, at most {DECLARATIONS}")
    failed = has_changed(DIGEST, "\n".join([f"{types} types, {count} declarations", "", *lines]) + "\n", options.update)
    if sys.platform != "darwin":
        if docs.is_old() and apple.main():
            return 1
        failed = any([has_changed(path, text, options.update) for path, text in lists(found)]) or failed
    problems = list(hidden())
    if types > TYPES or count > DECLARATIONS:
        problems.append("too much: make it package, or move it to a module that only authors of vaults and backends import")
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if failed or problems else 0
