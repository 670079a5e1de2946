"""Lists what breaks code that uses the public API of a revision, module by module, as swift-api-digester finds it.

Compares the modules of `scripts/dev apple`, which have the API of all platforms and traits. The revision is compiled against the dependencies of this
build. The digester takes `package` declarations for API, so both sides are reduced to what the symbol graphs call public."""
import glob, json, os, re, shutil, subprocess, sys

from kit import build
from verbs import apple

FOLDER, WORK = apple.FOLDER, ".build/api-breakage"


def run(*command, folder=".", **options):
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def modules(folder):
    """The documented modules: every library, and what they export."""
    return re.findall(r"^ {8}- (\w+)$", open(f"{folder}/.spi.yml").read(), re.M)


def reduced(node, public, module):
    """A copy without declarations of the module that are not public."""
    if "children" not in node:
        return node
    kept = [child for child in node["children"]
            if "declKind" not in child or child.get("moduleName") != module or child.get("implicit")
            or child["declKind"] in ("Import", "Accessor") or child.get("usr") in public]
    return {**node, "children": [reduced(child, public, module) for child in kept]}


def dump(module, folder, target, output):
    """Writes the digester's description of a module's public API."""
    with open(f"{folder}/{apple.ARGUMENTS}") as file:
        arguments = ["-target", target, *file.read().split("\n")]
    graphs = os.path.abspath(f"{WORK}/graphs")
    shutil.rmtree(graphs, ignore_errors=True)
    os.makedirs(graphs)
    run("swift", "symbolgraph-extract", "-module-name", module, *arguments, "-minimum-access-level", "public",
        "-output-dir", graphs, folder=folder)
    public = {s["identifier"]["precise"] for path in glob.glob(f"{graphs}/*.json") for s in json.load(open(path))["symbols"]}
    run("swift-api-digester", "-dump-sdk", "-swift-only", "-avoid-tool-args", "-avoid-location", "-module", module, *arguments,
        "-o", os.path.abspath(output), folder=folder)
    found = json.load(open(output))
    found["ABIRoot"] = reduced(found["ABIRoot"], public, module)
    json.dump(found, open(output, "w"))


def breakage(module, target):
    """What the digester reports about a module. One that is no longer there is all reported."""
    if module not in modules("."):
        return [f"{module} has been removed"]
    dump(module, f"{WORK}/base", target, f"{WORK}/old.json")
    dump(module, ".", target, f"{WORK}/new.json")
    text = run("swift-api-digester", "-diagnose-sdk", "-swift-only", "-input-paths", f"{WORK}/old.json",
               "-input-paths", f"{WORK}/new.json", stderr=subprocess.STDOUT)
    return [f"{module}: {line}" for line in text.split("\n") if line and not line.startswith("/*")]


def options(parser):
    parser.add_argument("base", metavar="TAG", help="the revision")


def main(options):
    known = subprocess.run(["git", "rev-parse", "--verify", "--quiet", options.base + "^{commit}"], stdout=subprocess.PIPE, text=True)
    if known.returncode:
        sys.exit(f"api-breakage: no revision {options.base}")
    apple.main()
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(f"{WORK}/base")
    run("git", "archive", "--output", f"{WORK}/base.tar", known.stdout.strip())
    run("tar", "-xf", f"{WORK}/base.tar", "-C", f"{WORK}/base")
    run("scripts/dev", "apple", folder=f"{WORK}/base", env={**os.environ, "BUILD_FOLDER": os.path.abspath(".build")})
    found = [line for module in modules(f"{WORK}/base") for line in breakage(module, build.triple())]
    if found:
        sys.exit("\n".join(found))
    print(f"no API breakage since {options.base}")
    return 0
