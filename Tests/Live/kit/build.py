"""Builds by SwiftPM. All optional parts are built and tested; libraries, programs and tests share one folder."""
import functools, json, os, re, subprocess, sys, zlib

from kit import stages

SWIFT, SWIFTC = os.environ.get("SWIFT", "swift"), os.environ.get("SWIFTC", "swiftc")
IN_CI = os.environ.get("CI", "false") not in ("", "false")
# Debug information would take a fifth of a build's time: INFO=dwarf for a debugger.
INFO = os.environ.get("INFO") or "none"
OPTIONS = ["-j", os.environ.get("JOBS") or str(os.cpu_count()), "-debug-info-format", INFO]
# Takes a quarter off the compiler's time in a first build, and makes later ones compile whole modules.
WHOLE = ["-Xswiftc", "-whole-module-optimization", "-Xswiftc", "-num-threads", "-Xswiftc", "2", "-Xswiftc", "-no-emit-module-separately-wmo"]
# Where packages or traits share a folder: SwiftPM would build by the plan of the one before.
ANEW = ["--disable-build-manifest-caching"]
# In CI every build is a first one, and none is kept.
QUICK = OPTIONS + (WHOLE if IN_CI else [])
ALL = ["--enable-all-traits", *QUICK]
# The packages that depend on this one have the same dependencies, which are built once in CI, for all packages and traits.
TOGETHER = ".build" if IN_CI else ".build/examples"
PACKAGE = [*OPTIONS, *WHOLE, *ANEW, "--scratch-path", TOGETHER]
PROGRAMS = ["handstamp", "handstamp-server"]
# As SwiftPM compiles C++ for debug builds, and what BoringSSL includes of the libraries of C and C++.
CXX = ["-O0", "-fPIC", "-fblocks", "-std=c++17"]
HEADERS = """algorithm array assert.h atomic errno.h functional inttypes.h iterator limits.h memory optional stdio.h stdlib.h string string.h string_view time.h
             tuple utility variant vector"""
# The program that was named by --program.
given = None


def environment(is_optimized=True):
    """Of every build: with another one SwiftPM would build everything again."""
    # SwiftPM 6.3 passes a package's traits to the compiler in the order of a set, which changes with every plan. Tests run with the usual hashing.
    surroundings = dict(os.environ, SWIFT_DETERMINISTIC_HASHING="1")
    surroundings.pop("HANDSTAMP_OPTIMIZED", None)
    # Exploration and simulation compute for long: see Package.swift.
    if is_optimized and INFO == "none":
        surroundings["HANDSTAMP_OPTIMIZED"] = "1"
    return surroundings


def apart(folder):
    """The options of a build with other traits. SwiftPM finds tests by the index, which none of these has."""
    return [*QUICK, *ANEW] if IN_CI else [*QUICK, *WHOLE, "--disable-index-store", "--scratch-path", ".build/" + folder]


@functools.cache
def check_compiler(swift=SWIFT):
    """Ends with the way to a compiler of Swift 6.3, if there is none. SwiftPM says so later, and in more words."""
    try:
        found = re.search(r"Swift version (\d+)\.(\d+)", subprocess.run([swift, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    except OSError:
        found = None
    if not found or (int(found[1]), int(found[2])) < (6, 3):
        sys.exit((f"Swift {found[1]}.{found[2]} is too old: this needs 6.3" if found else "there is no Swift compiler: this needs 6.3")
                 + "\nhint: install it from https://www.swift.org/install, or name one that is not in the PATH: make run SWIFT=FOLDER/bin/swift")


def headers(options):
    """Two packages bring BoringSSL, whose 529 files in C++ read the same headers: a debug build on Linux reads them once, as clang has compiled them."""
    if not sys.platform.startswith("linux") or os.environ.get("CC") or any(option == "release" or option.startswith("--sanitize") for option in options):
        return []
    path = os.path.abspath(f".build/headers-{zlib.crc32(HEADERS.encode())}.pch")
    run = functools.partial(subprocess.run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    try:
        triple, resources = target(SWIFT)
        clang = [os.path.normpath(resources + "/../../bin/clang"), "-target", triple, *CXX]
        # Another compiler, or other headers: anew. Otherwise the same file, of which nothing has to be built again.
        probe = ["-x", "c++", "-fsyntax-only", "-Xclang", "-fmodules-validate-system-headers", "-include-pch", path, "/dev/null"]
        if os.path.exists(path + ".refused"):
            return []
        if run([*clang, *probe]).returncode:
            os.makedirs(".build", exist_ok=True)
            run([*clang, "-x", "c++-header", "-", "-o", path], input="".join(f"#include <{name}>\n" for name in HEADERS.split()), check=True)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return []
    return ["-Xcxx", "-include-pch", "-Xcxx", path]


def run(log, options, surroundings, words=None):
    """One build. Where a package wants another C++, or another clang compiles, files read the headers themselves, from now on."""
    check_compiler()
    more, command = headers(options), [SWIFT, "build", *options]
    status, path = stages.watch(log, [*command, *more], surroundings, words)
    with open(path) as file:
        is_refused = status and more and re.search(r"precompiled|PCH", file.read())
    if is_refused:
        open(more[-1] + ".refused", "w").close()
        status, path = stages.watch(log, command, surroundings, words)
    if status:
        stages.fail(path, command)


def build(log, *options, is_optimized=True, words=None):
    """One build, shown as stages; its output is kept under the name of a log. Returns the folder of what was built."""
    run(log, options, environment(is_optimized), words)
    return place(*options, is_optimized=is_optimized)


def place(*options, is_optimized=True):
    """The folder of what a build with these options makes."""
    return subprocess.run([SWIFT, "build", *options, "--show-bin-path"], env=environment(is_optimized), check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def programs(*products, release=False):
    """The paths of programs, which are built unless --program names one; then those beside it are taken, if they are there. `handstamp` brings
    `handstamp-server` along."""
    options, paths = [*ALL, *(["-c", "release"] if release else [])], []
    for product in products:
        path = given and (given if product == "handstamp" else os.path.join(os.path.dirname(given), product))
        if not path or product != "handstamp" and not os.path.exists(path):
            for name in reversed(PROGRAMS) if product == "handstamp" else [product]:
                path = build("build", *options, "--product", name, words=f"building {name}") + "/" + name
        paths.append(path)
    return paths


def program(product="handstamp", release=False):
    return programs(product, release=release)[0]


def operators(path):
    """The server's program, which is beside the other one."""
    return path + "-server"


def libraries():
    """The names of the products that are libraries."""
    with open("Package.swift") as file:
        return re.findall(r'"(\w+)"', re.search(r"let libraries = \[(.*?)\]", file.read(), re.S)[1])


def target(compiler=SWIFTC):
    """The triple, and the folder of the compiler's resources."""
    found = json.loads(subprocess.run([compiler, "-print-target-info"], check=True, stdout=subprocess.PIPE).stdout)
    return found["target"]["unversionedTriple"], found["paths"]["runtimeResourcePath"]


def version():
    """The version of this source."""
    with open("Sources/Programs/HandstampCommandLine/Version.swift") as file:
        return next(line.split('"')[1] for line in file if "static let version = " in line)
