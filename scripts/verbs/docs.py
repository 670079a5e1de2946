"""Builds reference and guides (.build/docs/site), checks every link, and compiles the guides' Swift code: plainly, and as a new app in Xcode would.

The reference is made of every module in .spi.yml by the toolchain's docc. Fails on every warning of docc, such as a link that does not resolve, on every
public symbol that no page's Topics list. Takes the modules of `scripts/dev apple`, which have the API of all platforms."""
import glob, os, pathlib, re, shutil, sys

from kit import build, reference
from verbs import apple

FOLDER = apple.FOLDER
SNIPPETS = FOLDER + "/snippets"


def is_old():
    """Whether the modules are older than their sources, or missing."""
    if not os.path.exists(apple.ARGUMENTS):
        return True
    made = os.path.getmtime(apple.ARGUMENTS)
    return any(os.path.getmtime(path) > made for path in ["Package.swift", *apple.sources("Sources", "Tests/AppleStubs")])


def snippets():
    """The Swift code of each guide as a file, with the guide's line numbers, so that compiler messages point there."""
    shutil.rmtree(SNIPPETS, ignore_errors=True)
    os.makedirs(SNIPPETS)
    for guide in sorted(glob.glob("Sources/*/*/*.docc/*.md")):
        text = pathlib.Path(guide).read_text()
        made = [f'#sourceLocation(file: "{guide}", line: {text.count(chr(10), 0, found.start(1)) + 1})\n{found[1]}#sourceLocation()\n'
                for found in re.finditer(r"^```swift\n(.*?)^```$", text, re.M | re.S)]
        if made:
            path = f"{SNIPPETS}/{pathlib.Path(guide).stem}.swift"
            pathlib.Path(path).write_text("import Foundation\nimport FoundationNetworking\nimport Handstamp\n" + "".join(made))
            yield path


def main(options):
    if sys.platform == "darwin":
        print("docs: checked on Linux only; Xcode builds the documentation of a target", file=sys.stderr)
        return 0
    if is_old() and apple.main():
        return 1
    places = apple.arguments()
    compile = [build.SWIFTC, "-swift-version", "6", "-warnings-as-errors", *apple.upcoming("MemberImportVisibility"), *places]
    reference.build(["-target", build.target()[0], *places])
    code = ["docs/snippets/Prelude.swift", *apple.sources("Tests/AppleStubs/Foundation"), *snippets()]
    apple.run(*compile, "-module-name", "Guides", *apple.STRICT, *apple.WHOLE, *code)
    # Of the same modules, as the check for iOS leaves them: what is newer than the oldest supported release is refused, too.
    apple.in_xcode(apple.prepared("ios"), "Guides", code)
    print("guides: every snippet compiled, plainly and in the modes of a new app")
