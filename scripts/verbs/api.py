"""Counts what `import Handstamp` shows, from the compiler's symbol graphs, and compares it with docs/api.txt.

A declaration counts unless it is a type alias, is synthesised by the compiler, or only satisfies a protocol of another package
(Hashable, Codable, CustomStringConvertible, AsyncSequence with its iterator, LocalizedError and so on). Enum cases count."""
import difflib, glob, json, os, re, subprocess, sys, tempfile

from kit import build

TYPES, DECLARATIONS = 115, 618
DIGEST = "docs/api.txt"
NOMINAL = {"swift.struct", "swift.class", "swift.enum", "swift.protocol", "swift.actor"}
RULE = f"""what import Handstamp shows: at most {TYPES} public types and {DECLARATIONS} declarations
not counted: type aliases, what the compiler synthesises, what only satisfies a protocol of another package"""


def modules():
    """Handstamp, and the modules that it exports."""
    text = open("Sources/Handstamp/Exports.swift").read()
    return sorted(re.findall(r"@_exported public import (\w+)", text)) + ["Handstamp"]


def graphs(folder, target, names):
    with tempfile.TemporaryDirectory() as out:
        for name in names:
            subprocess.run(
                ["swift", "symbolgraph-extract", "-module-name", name, "-I", folder, "-target", target,
                 "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", out],
                check=True, capture_output=True)
            for path in sorted(glob.glob(f"{out}/{name}.symbols.json") + glob.glob(f"{out}/{name}@*.symbols.json")):
                yield name, json.load(open(path))


def options(parser):
    parser.add_argument("--update", action="store_true", help="write docs/api.txt")


def main(options):
    place = os.path.dirname(build.given) if build.given else build.build("build", *build.ALL, "--target", "HandstampUI")
    found = list(graphs(place + "/Modules", build.triple(), modules()))
    own = {"".join(s["pathComponents"]) for _, g in found for s in g["symbols"]
           if s["kind"]["identifier"] == "swift.protocol"}
    types, declarations, lines = set(), 0, []
    for name, graph in found:
        foreign, iterators = set(), set()
        for relation in graph["relationships"]:
            origin = relation.get("sourceOrigin", {}).get("displayName", "").split(".")[0]
            if origin and origin not in own:
                foreign.add(relation["source"])
            if relation["kind"] == "conformsTo" and relation.get("targetFallback") == "_Concurrency.AsyncIteratorProtocol":
                iterators.add(relation["source"])
        nested = {tuple(s["pathComponents"]) for s in graph["symbols"] if s["identifier"]["precise"] in iterators}
        for symbol in graph["symbols"]:
            kind, path = symbol["kind"]["identifier"], tuple(symbol["pathComponents"])
            precise = symbol["identifier"]["precise"]
            if kind == "swift.typealias" or precise in foreign or any(path[:len(n)] == n for n in nested):
                continue
            if kind in NOMINAL:
                types.add((name, path))
            else:
                declarations += 1
            fragments = "".join(f["spelling"] for f in symbol.get("declarationFragments", []))
            fragments = re.sub(r"^(@[\w()]+ )*", "", re.sub(r"\s+", " ", fragments))
            lines.append(f"{'.'.join(path)} — {fragments}")
    digest = "\n".join([f"{len(types)} types, {declarations} declarations", ""] + sorted(set(lines))) + "\n"
    print(RULE)
    print(f"counted: {len(types)} types, {declarations} declarations")
    if options.update:
        open(DIGEST, "w").write(digest)
    known = open(DIGEST).read() if os.path.exists(DIGEST) else ""
    changes = [l for l in difflib.unified_diff(known.split("\n"), digest.split("\n"), DIGEST, "now", lineterm="", n=0)]
    print("\n".join(changes[:200]) if changes else f"{DIGEST} is up to date")
    failed = bool(changes)
    if changes:
        print(f"hint: run scripts/dev api --update and commit {DIGEST}", file=sys.stderr)
    if len(types) > TYPES or declarations > DECLARATIONS:
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
