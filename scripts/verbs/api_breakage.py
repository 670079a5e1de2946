"""Lists what breaks code that uses the public API of a revision, module by module, as swift-api-digester finds it.

Compares the modules of `scripts/dev apple`, which have the API of all platforms and traits. The revision is compiled against the dependencies of this
build. The digester takes `package` declarations for API, so both sides are reduced to what the symbol graphs call public."""
import json, os, shutil, subprocess, sys

from kit import build, declarations, reference
from verbs import apple

FOLDER, WORK = apple.FOLDER, ".build/api-breakage"


def run(*command, folder=".", **options):
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def reduced(node, public, module):
    """A copy without declarations of the module that are not public."""
    if "children" not in node:
        return node
    kept = [child for child in node["children"]
            if "declKind" not in child or child.get("moduleName") != module or child.get("implicit")
            or child["declKind"] in ("Import", "Accessor") or child.get("usr") in public]
    return {**node, "children": [reduced(child, public, module) for child in kept]}


def described(module, folder, name):
    """The path of the digester's description of a module's public API."""
    with open(f"{folder}/{apple.ARGUMENTS}") as file:
        arguments = ["-target", build.target()[0], *file.read().split("\n")]
    place = os.path.abspath(f"{WORK}/{name}")
    public = declarations.paths((module, graph) for graph in declarations.extract(module, arguments, place, folder=folder).values())
    run("swift-api-digester", "-dump-sdk", "-swift-only", "-avoid-tool-args", "-avoid-location", "-module", module, *arguments, "-o", place + ".json",
        folder=folder)
    with open(place + ".json") as file:
        found = json.load(file)
    found["ABIRoot"] = reduced(found["ABIRoot"], public, module)
    with open(place + ".json", "w") as file:
        json.dump(found, file)
    return place + ".json"


def breakage(module):
    """What the digester reports about a module. One that is no longer there is all reported."""
    if module not in reference.listed():
        return [f"{module} has been removed"]
    text = run("swift-api-digester", "-diagnose-sdk", "-swift-only", "-input-paths", described(module, WORK + "/base", "old"),
               "-input-paths", described(module, ".", "new"), stderr=subprocess.STDOUT)
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
    found = [line for module in reference.listed(WORK + "/base") for line in breakage(module)]
    if found:
        sys.exit("\n".join(found))
    print(f"no API breakage since {options.base}")
