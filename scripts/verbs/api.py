"""Counts what `import Handstamp` shows, from the compiler's symbol graphs, and compares it with docs/api.txt. Compares docs/api/ likewise: the
declarations of each product that apps import, with those that only Apple's platforms have, from the modules of `scripts/dev apple`.

A declaration counts unless it is a type alias, is synthesised by the compiler, or only satisfies a protocol of another package
(Hashable, Codable, CustomStringConvertible, AsyncSequence with its iterator, LocalizedError and so on). Enum cases count."""
import difflib, glob, os, re, sys

from kit import build, declarations
from verbs import apple, docs

TYPES, DECLARATIONS = 110, 600
FOLDER = apple.FOLDER
DIGEST, LISTS = "docs/api.txt", "docs/api"
# Those that an app's targets link. Of Handstamp itself, docs/api.txt has all but what is Apple's alone.
PRODUCTS = ["HandstampUI", "HandstampOAuth", "HandstampTesting", "HandstampCookies", "HandstampData", "HandstampKeys", "HandstampTransports",
            "HandstampVerifier"]
RULE = f"""what import Handstamp shows: at most {TYPES} public types and {DECLARATIONS} declarations
not counted: type aliases, what the compiler synthesises, what only satisfies a protocol of another package"""


def modules():
    """Handstamp, and the modules that it exports."""
    text = open("Sources/Handstamp/Exports.swift").read()
    return sorted(re.findall(r"@_exported public import (\w+)", text)) + ["Handstamp"]


def options(parser):
    parser.add_argument("--update", action="store_true", help="write docs/api.txt and docs/api/")


def on_linux():
    """The graphs of what `import Handstamp` shows on Linux."""
    place = os.path.dirname(build.given) if build.given else build.build("build", *build.ALL, "--target", "HandstampUI")
    maps = apple.module_maps(".build")
    return list(declarations.graphs(["-I", place + "/Modules", "-target", build.triple(), *maps], modules()))


def lists(linux):
    """Path and text of each list."""
    found = list(declarations.graphs(["-target", build.triple(), *apple.arguments()], modules() + PRODUCTS))
    names = {symbol["identifier"]["precise"]: tuple(symbol["pathComponents"]) for _, graph in found for symbol in graph["symbols"]}
    for product in PRODUCTS:
        yield f"{LISTS}/{product}.txt", declarations.listing(product + ", on all platforms", [each for each in found if each[0] == product], names)
    known = {symbol["identifier"]["precise"] for _, graph in linux for symbol in graph["symbols"]}
    for _, graph in found:
        graph["symbols"] = [symbol for symbol in graph["symbols"] if symbol["identifier"]["precise"] not in known]
        graph["relationships"] = [each for each in graph["relationships"] if each["source"] not in known]
    yield f"{LISTS}/Handstamp.txt", declarations.listing(
        f"What import Handstamp has on Apple's platforms beside {DIGEST}", [each for each in found if each[0] in modules()], names)


def has_changed(path, text, is_update):
    """Whether a file is not as it should be; writes it if asked to."""
    if is_update:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    known = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    changes = list(difflib.unified_diff(known.split("\n"), text.split("\n"), path, "now", lineterm="", n=0))
    print("\n".join(changes[:200]) if changes else f"{path} is up to date")
    if changes:
        print(f"hint: run scripts/dev api --update and commit {path}", file=sys.stderr)
    return bool(changes)


def main(options):
    found = on_linux()
    types, count, lines = set(), 0, []
    names = {symbol["identifier"]["precise"]: tuple(symbol["pathComponents"]) for _, graph in found for symbol in graph["symbols"]}
    protocols = declarations.conformances(found, names)
    for symbol in declarations.symbols(found):
        text = declarations.plain(symbol.text)
        if symbol.kind in declarations.NOMINAL:
            types.add((symbol.module, symbol.path))
            also = declarations.beside(text, protocols[symbol.path])
            text += f"  // {', '.join(also)}" if also else ""
        else:
            count += 1
        lines.append(f"{'.'.join(symbol.path)} — {text}")
    digest = "\n".join([f"{len(types)} types, {count} declarations", ""] + sorted(set(lines))) + "\n"
    print(RULE)
    print(f"counted: {len(types)} types, {count} declarations")
    failed = has_changed(DIGEST, digest, options.update)
    if sys.platform != "darwin":
        if docs.is_old() and apple.main():
            return 1
        failed = any([has_changed(path, text, options.update) for path, text in lists(found)]) or failed
    if len(types) > TYPES or count > DECLARATIONS:
        print("too much: make it package, or move it to a module that only authors of vaults and backends import", file=sys.stderr)
        failed = True
    # Moving a type is no way out: what app authors are shown imports Handstamp, and products with a purpose of their own.
    hidden = re.compile(r"^\s*(?:public |package )?import (HandstampModel|HandstampCore|HandstampVaults)\b", re.M)
    for path in ["README.md", *glob.glob("docs/*.md"), *glob.glob("Sources/Handstamp/Handstamp.docc/*.md"),
                 *glob.glob("docs/snippets/*.swift"), *glob.glob("Examples/*/Sources/**/*.swift", recursive=True)]:
        text = open(path).read()
        if "import HandstampServer" in text:
            continue  # servers have no use for the client
        for match in hidden.finditer(text):
            print(f"{path}: app authors import Handstamp, not {match.group(1)}", file=sys.stderr)
            failed = True
    return 1 if failed else 0
