"""What a module declares for those who import it, from the compiler's symbol graphs."""
import collections, glob, json, os, re, subprocess, sys, tempfile

NOMINAL = {"swift.struct", "swift.class", "swift.enum", "swift.protocol", "swift.actor"}
# They follow from others, or from the compiler.
UNSAID = {"Copyable", "Escapable", "SendableMetatype", "BitwiseCopyable", "Equatable"}
Symbol = collections.namedtuple("Symbol", "module kind path text precise")


def extract(module, arguments, out, *more):
    """The graphs of a module by their paths: of its own symbols, and of those that it adds to types of other modules."""
    os.makedirs(out, exist_ok=True)
    done = subprocess.run(["swift", "symbolgraph-extract", "-module-name", module, *arguments, "-minimum-access-level", "public", *more, "-output-dir", out],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout)
    return {path: json.load(open(path)) for path in sorted(glob.glob(f"{out}/{module}.symbols.json") + glob.glob(f"{out}/{module}@*.symbols.json"))}


def graphs(arguments, names):
    """Each module with its graphs, without what the compiler synthesises."""
    for name in names:
        with tempfile.TemporaryDirectory() as out:
            yield from ((name, graph) for graph in extract(name, arguments, out, "-skip-synthesized-members").values())


def paths(found):
    """The path of each symbol by its precise identifier."""
    return {symbol["identifier"]["precise"]: tuple(symbol["pathComponents"]) for _, graph in found for symbol in graph["symbols"]}


def private_set(names):
    """Type and name of each variable that only its own package, file or type may set: a symbol graph shows `{ get set }` for some."""
    for path in (path for name in names for path in glob.glob(f"Sources/*/{name}/**/*.swift", recursive=True)):
        owners = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                if found := re.match(r"( *)(?:[@\w()]+ )*(?:struct|class|actor|enum|extension) (\w+)", line):
                    owners = [each for each in owners if each[0] < len(found[1])] + [(len(found[1]), found[2])]
                elif found := re.match(r"( *)(?:[@\w()]+ )*(?:private|fileprivate|internal|package)\(set\) (?:[@\w()]+ )*var (\w+)", line):
                    yield from ((owner, found[2]) for _, owner in [each for each in owners if each[0] < len(found[1])][-1:])


def symbols(found):
    """The symbols of graphs, without type aliases, and without those that only satisfy a protocol that none of these graphs declares."""
    own = {"".join(s["pathComponents"]) for _, graph in found for s in graph["symbols"] if s["kind"]["identifier"] == "swift.protocol"}
    unsettable = set(private_set({name for name, _ in found}))
    for name, graph in found:
        foreign, iterators, required = set(), set(), {}
        texts = {s["identifier"]["precise"]: "".join(f["spelling"] for f in s.get("declarationFragments", [])) for s in graph["symbols"]}
        for relation in graph["relationships"]:
            kind, source, target = relation["kind"], relation["source"], relation["target"]
            if kind in ("requirementOf", "defaultImplementationOf"):
                required[source] = source if kind == "requirementOf" else target
            if relation.get("sourceOrigin", {}).get("displayName", "").split(".")[0] not in {"", *own}:
                foreign.add(source)
            if kind == "conformsTo" and relation.get("targetFallback") == "_Concurrency.AsyncIteratorProtocol":
                iterators.add(source)
        nested = {tuple(s["pathComponents"]) for s in graph["symbols"] if s["identifier"]["precise"] in iterators}
        for symbol in graph["symbols"]:
            kind, path, precise = symbol["kind"]["identifier"], tuple(symbol["pathComponents"]), symbol["identifier"]["precise"]
            if kind == "swift.typealias" or precise in foreign or any(path[:len(n)] == n for n in nested):
                continue
            text = re.sub(r"\s+", " ", texts[precise]).replace("@concurrent ", "")
            # Of requirements alone. A default implementation is one with its requirement.
            if "@concurrent " in texts.get(required.get(precise), ""):
                text = "@concurrent " + text
            if path[-2:] in unsettable:
                text = text.replace("{ get set }", "{ get }")
            yield Symbol(name, kind, path, text, precise)


def plain(text):
    """A declaration without its attributes, but for those that decide whether code compiles."""
    return re.sub(r"^(@[\w()]+ )*", lambda m: "".join(each for each in ("@discardableResult ", "@concurrent ") if each in m[0]), text)


def conformances(found, names):
    """The protocols of each type, by its path, but for those that are not worth saying."""
    said = collections.defaultdict(set)
    for relation in (relation for _, graph in found for relation in graph["relationships"] if relation["kind"] == "conformsTo"):
        if relation["source"] in names:
            name = names[relation["target"]][-1] if relation["target"] in names else relation.get("targetFallback", "").split(".")[-1]
            if name and name not in UNSAID:
                said[names[relation["source"]]].add(name)
    return said


def beside(head, protocols):
    """A comment with the protocols that the head of a declaration does not name."""
    also = sorted(name for name in protocols if not re.search(rf": .*\b{name}\b", head.split(" where ")[0]))
    return f"  // {', '.join(also)}" if also else ""


def listing(title, found, names):
    """A list for readers: each type with its protocols, and its members below it.

    `names` has the path of each symbol of this package by its precise identifier, for types that the modules extend."""
    groups, heads = collections.defaultdict(set), {}
    defaults = {relation["target"] for _, graph in found for relation in graph["relationships"] if relation["kind"] == "defaultImplementationOf"}
    protocols = conformances(found, names)
    for symbol in symbols(found):
        if symbol.kind in NOMINAL:
            head = re.sub(r"\b(struct|class|enum|protocol|actor) \w+", lambda m: f"{m[1]} {'.'.join(symbol.path)}", plain(symbol.text), count=1)
            heads[symbol.path] = ("@MainActor " if "@MainActor" in symbol.text.split(head.split(" ")[0])[0] else "") + head
        else:
            groups[symbol.path[:-1]].add(plain(symbol.text).replace("( ", "(") + ("  // has a default" if symbol.precise in defaults else ""))
    lines = []
    for path in sorted({*heads, *groups, *protocols} - {()}):
        known, members = heads.get(path), groups[path]
        # A requirement and its default implementation are one line.
        members -= {line.removesuffix("  // has a default") for line in members if line.endswith("  // has a default")}
        lines += ["", (known or "extension " + ".".join(path)) + beside(known or "", protocols[path])]
        lines += ["  " + line for line in sorted(members, key=order)]
    if groups[()]:
        lines += [""] + sorted(groups[()])
    return "\n".join([title + ". Written by scripts/dev api --update.", *lines]) + "\n"


def order(line):
    """Cases and initializers first, then by name."""
    word = line.split(" ")[0].split("(")[0]
    name = re.search(r"\b(?:case|var|let|func|subscript|associatedtype|macro) ?(\w*)", line)
    return ({"associatedtype": 0, "case": 1, "init": 2, "convenience": 2}.get(word, 3), name[1] if name else "", line)
