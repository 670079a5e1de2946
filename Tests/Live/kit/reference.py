"""The reference of every module in .spi.yml, with its guides, as one documentation archive: .build/docs/site.

DocC resolves a link to another module only as an absolute path, and only with that module's archive. Doc comments and guides name a
type as code does: ``SessionError``. Such names are completed in copies: ``/HandstampCore/SessionError``."""
import concurrent.futures, glob, json, os, pathlib, re, shutil, subprocess, sys

from kit import declarations
from kit.build import libraries

OUT = ".build/docs"
LINK = re.compile(r"(?<!`)``([^`\s]+)``(?!`)")


def original(text):
    """Names files as in the repository, not as copied, nor absolutely."""
    return re.sub(rf"{OUT}/catalogs/(\w+)\.docc", lambda m: glob.glob(f"Sources/*/{m[1]}/{m[1]}.docc")[0], text.replace(os.getcwd() + "/", ""))


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        sys.exit(original(result.stdout))


def listed():
    """The documentation targets."""
    return re.findall(r"^ {8}- (\w+)$", open(".spi.yml").read(), re.M)


def modules():
    """Every library is a documentation target, and each of these has a catalog with a landing page."""
    missing = [f".spi.yml does not list the library {name}" for name in libraries() if name not in listed()]
    missing += [f"there is no {m}.docc/{m}.md" for m in listed() if not glob.glob(f"Sources/*/{m}/{m}.docc/{m}.md")]
    if missing:
        sys.exit("\n".join(missing))
    return listed()


class Names:
    """Which module declares a name that documentation mentions."""

    def __init__(self, graphs):
        self.paths, self.declaring = {}, {}
        for module, files in graphs.items():
            symbols = files[f"{OUT}/graphs/{module}/{module}.symbols.json"]["symbols"]
            self.paths[module] = {tuple(symbol["pathComponents"]) for symbol in symbols}
            for symbol in symbols:
                # An alias is for code. The documentation is at the type.
                if len(symbol["pathComponents"]) == 1 and symbol["kind"]["identifier"] != "swift.typealias":
                    self.declaring.setdefault(symbol["pathComponents"][0], []).append(module)

    def completed(self, link, module, scope):
        first = link.split("/")[0]
        name = re.sub(r"(?<=\w)-[\w.]+$", "", first)  # without a disambiguation
        if not first or name == module:
            return link
        if name in self.paths:
            return "/" + link
        if any((*scope[:n], name) in self.paths[module] for n in range(len(scope) + 1)):
            return link
        found = self.declaring.get(name, [])
        if len(found) > 1:
            sys.exit(f"{module}: ``{link}`` is declared by {' and '.join(found)}: write ``/{found[0]}/{link}``")
        return f"/{found[0]}/{link}" if found else link

    def complete(self, lines, module, scope=()):
        code = False
        for line in lines:
            code ^= line.lstrip().startswith("```")
            yield line if code else LINK.sub(lambda m: f"``{self.completed(m[1], module, scope)}``", line)


def prepare(module, files, names):
    for path, graph in files.items():
        for symbol in graph["symbols"]:
            lines = symbol.get("docComment", {}).get("lines", [])
            texts = names.complete([l["text"] for l in lines], module, tuple(symbol["pathComponents"]))
            for line, text in zip(lines, texts):
                line["text"] = text
        pathlib.Path(path).write_text(json.dumps(graph))
    shutil.copytree(glob.glob(f"Sources/*/{module}/{module}.docc")[0], f"{OUT}/catalogs/{module}.docc")
    for page in pathlib.Path(f"{OUT}/catalogs/{module}.docc").rglob("*.md"):
        page.write_text("\n".join(names.complete(page.read_text().split("\n"), module)))


def convert(module, stage, *options):
    """Builds one module's archive, and returns what docc warns of."""
    os.makedirs(f"{OUT}/{stage}", exist_ok=True)
    report = f"{OUT}/{stage}/{module}.json"
    run(["docc", "convert", f"{OUT}/catalogs/{module}.docc", "--additional-symbol-graph-dir", f"{OUT}/graphs/{module}",
         "--output-path", f"{OUT}/{stage}/{module}.doccarchive", "--fallback-display-name", module,
         "--fallback-bundle-identifier", module, "--fallback-default-module-kind", "Library",
         "--enable-experimental-external-link-support", "--diagnostics-file", report, *options])
    for problem in json.load(open(report))["diagnostics"]:
        # A parameter that its name explains needs no line, not even beside one that does.
        if not re.fullmatch(r"Parameter '\w+' is missing documentation", problem["summary"]):
            line = problem.get("range", {}).get("start", {}).get("line", 1)
            yield f"{original(problem.get('source', '').removeprefix('file://'))}:{line}: {problem['summary']}"


def uncurated(module):
    """Symbols that DocC had to group by kind, because the Topics do not list them: those of a module, and of types with a page."""
    for source in sorted(glob.glob(f"Sources/*/{module}/{module}.docc/**/*.md", recursive=True)):
        title = re.match(r"# ``([\w/]+)``\n", open(source).read())
        if not title:
            continue
        page = json.load(open(f"{OUT}/archives/{module}.doccarchive/data/documentation/{title[1].lower()}.json"))
        for section in page.get("topicSections", []):
            if section.get("generated") and section["title"] not in ("Default Implementations", "Extended Modules"):
                for identifier in section["identifiers"]:
                    yield f"{source}:1: not in Topics: {identifier.split('/documentation/')[-1]}"


def build(arguments):
    """With the compiler's arguments to import the modules."""
    shutil.rmtree(OUT, ignore_errors=True)
    found = modules()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        each = lambda work: list(pool.map(work, found))
        graphs = dict(zip(found, each(lambda m: declarations.extract(
            m, arguments, f"{OUT}/graphs/{m}", "-skip-synthesized-members", "-emit-extension-block-symbols"))))
        names = Names(graphs)
        for module in found:
            prepare(module, graphs[module], names)
        # First without, then with the pages of all other modules: links may lead both ways.
        each(lambda m: list(convert(m, "links", "--no-transform-for-static-hosting")))
        problems = sum(each(lambda m: list(convert(m, "archives", "--transform-for-static-hosting", *(
            word for other in found if other != m for word in ("--dependency", f"{OUT}/links/{other}.doccarchive"))))), [])
    problems += [line for module in found for line in uncurated(module)]
    if problems:
        sys.exit("\n".join(problems))
    run(["docc", "merge", *(f"{OUT}/archives/{m}.doccarchive" for m in found), "--output-path", f"{OUT}/site",
         "--synthesized-landing-page-name", "Handstamp", "--synthesized-landing-page-topics-style", "list"])
    print(f"reference: {len(found)} modules, {sum(len(p) for p in names.paths.values())} symbols, all links resolve: {OUT}/site")
