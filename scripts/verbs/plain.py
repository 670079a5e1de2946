"""Builds the package without traits, and `handstamp` with its trait alone, and checks that linking a product without its trait is an error that names the trait.

With --short the modules of such products alone; that the others build without traits, the examples show."""
import glob, os, pathlib, re, subprocess, sys, tempfile

from kit import build


def options(parser):
    parser.add_argument("--short", action="store_true", help="only what names the traits")


def main(options):
    with tempfile.TemporaryDirectory() as work:
        modules = work
        if not options.short:
            build.build("command", "--traits", "Command,Strict", *build.apart("plain"), "--product", "handstamp", is_optimized=False, words="handstamp alone")
            modules = build.build("plain", "--traits", "Strict", *build.apart("plain"), is_optimized=False, words="without traits") + "/Modules"
        for path in sorted(glob.glob("Sources/*/*/WithoutTrait.swift")):
            module = os.path.basename(os.path.dirname(path))
            if options.short:
                subprocess.run([build.SWIFTC, "-parse-as-library", "-emit-module", "-module-name", module, "-o", f"{work}/{module}.swiftmodule", path], check=True)
            # Each type with the trait of the `#if` around it.
            parts = re.split(r"^#if !(\w+)$", pathlib.Path(path).read_text(), flags=re.M)[1:]
            for trait, type in ((trait, type) for trait, part in zip(parts[::2], parts[1::2]) for type in re.findall(r"^public enum (\w+)", part, re.M)):
                pathlib.Path(work, "use.swift").write_text(f"import {module}\nlet kind = {type}.self\n")
                done = subprocess.run([build.SWIFTC, "-typecheck", "-I", modules, work + "/use.swift"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if not done.returncode or f"'{type}' is unavailable: add traits: [\"{trait}\"] to the dependency on handstamp" not in done.stdout:
                    sys.exit(f"{done.stdout}\n{module}: using {type} without its trait does not name the trait")
    print("a forgotten trait is named")
