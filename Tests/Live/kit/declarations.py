"""What a module declares for those who import it, from the compiler's symbol graphs."""
import collections, glob, json, re, subprocess, tempfile

NOMINAL = {"swift.struct", "swift.class", "swift.enum", "swift.protocol", "swift.actor"}
# They follow from others, or from the compiler.
UNSAID = {"Copyable", "Escapable", "SendableMetatype", "BitwiseCopyable", "Equatable"}
Symbol = collections.namedtuple("Symbol", "module kind path text precise")


def graphs(arguments, names):
    """The graphs of each module: of its own symbols, and of those that it adds to types of other modules."""
    with tempfile.TemporaryDirectory() as out:
        for name in names:
            subprocess.run(["swift", "symbolgraph-extract", "-module-name", name, *arguments, "-minimum-access-level", "public",
                            "-skip-synthesized-members", "-output-dir", out], check=True, capture_output=True)
            for path in sorted(glob.glob(f"{out}/{name}.symbols.json") + glob.glob(f"{out}/{name}@*.symbols.json")):
                with open(path, encoding="utf-8") as file:
                    yield name, json.load(file)


def private_set(names):
    """Type and name of each variable that only its own package, file or type may set: a symbol graph shows `{ get set }` for some."""
    declaration = re.compile(r"^( *)(?:[@\w()]+ )*(?:struct|class|actor|enum|extension) (\w+)")
    variable = re.compile(r"^( *)(?:[@\w()]+ )*(?:private|fileprivate|internal|package)\(set\) (?:[@\w()]+ )*var (\w+)")
    for name in names:
        for path in glob.glob(f"Sources/{name}/**/*.swift", recursive=True):
            owners = []
            for line in open(path, encoding="utf-8"):
                if found := declaration.match(line):
                    owners = [o for o in owners if o[0] < len(found[1])] + [(len(found[1]), found[2])]
                elif found := variable.match(line):
                    for owner in [o[1] for o in owners if o[0] < len(found[1])][-1:]:
                        yield owner, found[2]


def symbols(found):
    """The symbols of graphs, without type aliases, and without those that only satisfy a protocol that none of these graphs declares."""
    own = {"".join(s["pathComponents"]) for _, graph in found for s in graph["symbols"] if s["kind"]["identifier"] == "swift.protocol"}
    unsettable = set(private_set({name for name, _ in found}))
    for name, graph in found:
        foreign, iterators, required = set(), set(), {}
        texts = {s["identifier"]["precise"]: "".join(f["spelling"] for f in s.get("declarationFragments", [])) for s in graph["symbols"]}
        for relation in graph["relationships"]:
            if relation["kind"] == "requirementOf":
                required[relation["source"]] = relation["source"]
            if relation["kind"] == "defaultImplementationOf":
                required[relation["source"]] = relation["target"]
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
    for _, graph in found:
        for relation in graph["relationships"]:
            if relation["kind"] == "conformsTo" and relation["source"] in names:
                target = relation["target"]
                name = names[target][-1] if target in names else relation.get("targetFallback", "").split(".")[-1]
                if name and name not in UNSAID:
                    said[names[relation["source"]]].add(name)
    return said


def beside(head, protocols):
    """The protocols that the head of a declaration does not name."""
    return sorted(name for name in protocols if not re.search(rf": .*\b{name}\b", head.split(" where ")[0]))


def listing(title, found, names):
    """A list for readers: each type with its protocols, and its members below it.

    `names` has the path of each symbol of this package by its precise identifier, for types that the modules extend."""
    groups, heads, defaults = collections.defaultdict(set), {}, set()
    for _, graph in found:
        defaults |= {relation["target"] for relation in graph["relationships"] if relation["kind"] == "defaultImplementationOf"}
    protocols = conformances(found, names)
    for symbol in symbols(found):
        if symbol.kind in NOMINAL:
            head = re.sub(r"\b(struct|class|enum|protocol|actor) \w+", lambda m: f"{m[1]} {'.'.join(symbol.path)}", plain(symbol.text), count=1)
            heads[symbol.path] = ("@MainActor " if "@MainActor" in symbol.text.split(head.split(" ")[0])[0] else "") + head
        else:
            groups[symbol.path[:-1]].add(plain(symbol.text).replace("( ", "(") + ("  // has a default" if symbol.precise in defaults else ""))
    lines = []
    for path in sorted(set(heads) | set(groups) | {path for path in protocols if path}):
        if not path:
            continue
        known = heads.get(path)
        also = beside(known or "", protocols[path])
        members = groups[path]
        # A requirement and its default implementation are one line.
        members -= {line.removesuffix("  // has a default") for line in members if line.endswith("  // has a default")}
        lines += ["", (known or "extension " + ".".join(path)) + (f"  // {', '.join(also)}" if also else "")]
        lines += ["  " + line for line in sorted(members, key=order)]
    if groups[()]:
        lines += [""] + sorted(groups[()])
    return "\n".join([title + ". Written by scripts/dev api --update.", *lines]) + "\n"


def order(line):
    """Cases and initializers first, then by name."""
    word = line.split(" ")[0].split("(")[0]
    name = re.search(r"\b(?:case|var|let|func|subscript|associatedtype|macro) ?(\w*)", line)
    return ({"associatedtype": 0, "case": 1, "init": 2, "convenience": 2}.get(word, 3), name[1] if name else "", line)
