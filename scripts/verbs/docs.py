"""Builds reference and guides (.build/docs/site), checks every link, and compiles the guides' Swift code.

The reference is made of every module in .spi.yml by the toolchain's docc. Fails on every warning of docc, such as a link that does not resolve, on every
public symbol that no page's Topics list, and on counterexamples that compile. Takes the modules of `scripts/dev apple`, which have the API of all
platforms."""
import glob, os, re, shutil, subprocess, sys

from kit import build, reference
from verbs import apple

SNIPPETS = apple.OUT + "/snippets"


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
    for guide in sorted(glob.glob("Sources/*/*.docc/*.md")):
        made, is_code = [], False
        with open(guide, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line == "```\n" and is_code:
                    is_code = False
                    made.append("#sourceLocation()\n")
                elif line == "```swift\n":
                    is_code = True
                    made.append(f'#sourceLocation(file: "{guide}", line: {number + 1})\n')
                elif is_code:
                    made.append(line)
        if made:
            path = f"{SNIPPETS}/{os.path.basename(guide)[:-3]}.swift"
            with open(path, "w") as file:
                file.write("import Foundation\nimport FoundationNetworking\nimport Handstamp\n" + "".join(made))
            yield path


def main(options):
    if sys.platform == "darwin":
        print("docs: checked on Linux only; Xcode builds the documentation of a target", file=sys.stderr)
        return 0
    if is_old() and apple.main():
        return 1
    places = apple.arguments()
    compile = [build.SWIFTC, "-swift-version", "6", "-warnings-as-errors", *apple.upcoming("MemberImportVisibility"), *places]
    if shutil.which("docc"):
        reference.build(["-target", build.triple(), *places])
    else:
        print("reference: docc not found, not built", file=sys.stderr)
    subprocess.run([sys.executable, "scripts/kit/apipage.py", ".build/docs/site/api.html"], check=True)
    if subprocess.run([*compile, "-module-name", "Guides", "-parse-as-library", "-emit-sil", "-wmo", "-o", apple.OUT + "/none.sil",
                       "docs/snippets/Prelude.swift", *snippets()]).returncode:
        return 1
    print("guides: every snippet compiled")
    # Must not compile, and only for the reason that the file names.
    for refused in sorted(glob.glob("docs/snippets/refused/*.swift")):
        with open(refused) as file:
            reason = re.search(r"^// error: (.*)$", file.read(), re.M)[1]
        done = subprocess.run([*compile, "-module-name", "Refused", "-parse-as-library", "-typecheck", refused], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if not done.returncode:
            sys.exit(f"{refused} compiles")
        if reason not in done.stdout or len(re.findall(r"^[^ \n]*: error: ", done.stdout, re.M)) != 1:
            sys.exit(f"{done.stdout}\n{refused} is not refused for its reason alone: {reason}")
    print("guides: every counterexample refused")
    return 0
