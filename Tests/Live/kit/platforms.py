"""Compiles for Apple's platforms on Linux, with the compiler's own check of availability.

Modules of Linux state Apple's releases in their `@available` attributes, the standard library and Foundation included. The compiler checks them when it
compiles for one of Apple's platforms, but refuses modules that were built for another. So each platform gets copies of them that name its triple: the name
in a module's header is replaced by one of the same length. Headers of C stay Linux's. Nothing of it is run."""
import glob, itertools, json, os, pathlib, re, subprocess, tempfile

from kit import build

# The oldest supported releases.
RELEASES = {"macos": "14.0", "ios": "17.0", "tvos": "17.0", "watchos": "10.0", "xros": "1.0"}
NAMES = {"macos": "macOS", "ios": "iOS", "tvos": "tvOS", "watchos": "watchOS", "xros": "visionOS"}
# visionOS takes what has no release of its own from iOS.
VISION_RELEASES = {"17.0": "1.0", "17.4": "1.1", "17.5": "1.2", "18.0": "2.0", "18.1": "2.1", "18.2": "2.2", "18.4": "2.4", "26.0": "26.0"}
# Code that the check has to refuse on every platform, each by the words of its error.
TOO_NEW = {
    "'Mutex' is only available": "import Synchronization\nfunc lock() { _ = Mutex(0) }",
    "'InlineArray' is only available": "func inline() -> InlineArray<2, Int> { [0, 1] }",
    "'span' is only available": "func span(of array: [Int]) { _ = array.span }",
    "'next(isolation:)' is only available": "func next<I: AsyncIteratorProtocol>(_ iterator: inout I) async throws { _ = try await iterator.next(isolation: nil) }",
    "isolated deinit is only available": "actor Isolated { isolated deinit {} }",
}


def unstated(text):
    """The lines of a stand-in whose comment names a release later than the oldest supported one, and whose declaration does not: the compiler would accept
    its use."""
    oldest = {NAMES[name]: float(release) for name, release in RELEASES.items()}
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        later = {system for system, release in re.findall(r"\b(\w+OS) (\d+(?:\.\d+)?)", line) if float(release) > oldest.get(system, 1000)}
        if later and line.lstrip().startswith("//"):
            attributes = "".join(itertools.takewhile(lambda each: each.lstrip().startswith(("//", "@")), lines[number:]))
            if any(f"{system} " not in attributes for system in later):
                yield number


def renamed(module, triple, name):
    """The bytes of a module with another triple, which a vendor of fitting length makes as long. A processor of Apple's, because the others' triples
    would be of simulators."""
    old, system = triple.encode(), name + RELEASES[name]
    new = f"arm64-{'x' * (len(old) - len(system) - 7)}-{system}".encode()
    if old not in module[:65536] or len(new) != len(old):
        raise ValueError("a module does not name its triple as expected")
    return module.replace(old, new, 1)


def macros(resources):
    """What the compiler's frontend, without its driver, needs for the standard library's macros."""
    return ["-in-process-plugin-server-path", resources + "/host/libSwiftInProcPluginServer.so", "-plugin-path", resources + "/host/plugins"]


class Platform:
    """One of Apple's systems, with the modules that code for it can import."""

    def __init__(self, name, folder, built=None):
        self.name, self.folder, self.options = name, folder, []
        self.target = f"arm64-apple-{name}{RELEASES[name]}"
        self.triple, self.resources = build.target()
        for place in ("system", "stubs", "modules"):
            os.makedirs(f"{folder}/{place}", exist_ok=True)
        for path in glob.glob(f"{self.resources}/linux/*.swiftmodule/{self.triple}.swiftmodule"):
            module = os.path.basename(os.path.dirname(path))
            os.makedirs(f"{folder}/system/{module}", exist_ok=True)
            self.copy(path, f"{folder}/system/{module}/arm64-apple-{name}.swiftmodule")
        # Those of this package are compiled for the platform.
        for path in glob.glob(f"{built}/Modules/*.swiftmodule") if built else []:
            if not os.path.basename(path).startswith("Handstamp"):
                self.copy(path, f"{folder}/system/{os.path.basename(path)}")
        # The map of the C library, which the compiler adds itself for Linux.
        here = f"{self.resources}/linux/{self.triple.split('-')[0]}"
        files = [{"type": "file", "name": name, "external-contents": f"{here}/{kept}"}
                 for name, kept in (("module.modulemap", "glibc.modulemap"), ("SwiftGlibc.h", "SwiftGlibc.h"))]
        overlay = {"version": 0, "roots": [{"type": "directory", "name": "/usr/include", "contents": files}]}
        versions = {"iOS_xrOS": VISION_RELEASES, "xrOS_iOS": {new: old for old, new in VISION_RELEASES.items()}}
        settings = {"Version": "26.0", "MaximumDeploymentTarget": "26.99", "VersionMap": versions}
        pathlib.Path(folder, "overlay.yaml").write_text(json.dumps(overlay))
        pathlib.Path(folder, "SDKSettings.json").write_text(json.dumps(settings))

    def copy(self, path, to):
        pathlib.Path(to).write_bytes(renamed(pathlib.Path(path).read_bytes(), self.triple, self.name))

    def add_testing(self):
        """Swift Testing, of which there is only a textual interface."""
        text = pathlib.Path(self.resources, f"linux/Testing.swiftmodule/{self.triple}.swiftinterface").read_text()
        path = pathlib.Path(self.folder, "Testing.swiftinterface")
        path.write_text(text.replace(f"-target {self.triple} ", f"-target {self.target} ", 1))
        subprocess.run(self.command("-compile-module-from-interface", "-module-name", "Testing", "-o", f"{self.folder}/system/Testing.swiftmodule", str(path),
                                    is_script=True), check=True)

    def command(self, *words, mode="6", in_extension=False, is_script=False):
        return [build.SWIFTC, "-frontend", "-swift-version", mode, "-target", self.target, "-clang-target", self.triple,
                "-disable-target-os-checking", "-disable-objc-interop", "-vfsoverlay", f"{self.folder}/overlay.yaml",
                "-platform-availability-inheritance-map-path", self.folder,
                *macros(self.resources), *(["-application-extension"] if in_extension else []),
                *(word for place in ("system", "stubs", "modules") for word in ("-I", f"{self.folder}/{place}")),
                *([] if is_script else ["-parse-as-library"]), *self.options, *words]

    def accepted(self, cases):
        """Those of the cases that the compiler does not refuse for their reason: there should be none."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "TooNew.swift")
            path.write_text("\n".join(cases.values()))
            done = subprocess.run(self.command("-typecheck", "-module-name", "TooNew", str(path)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return [words for words in cases if f"error: {words} in {NAMES[self.name]} " not in done.stdout]
