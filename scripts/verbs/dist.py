"""Builds what is distributed for Linux, into .build/dist/out: the stripped program, its manual, completions and licenses, and on Debian a package of them.

Swift's own libraries are linked statically, the system's dynamically."""
import email.utils, glob, gzip, os, re, shutil, subprocess, sys

from kit import build

NEEDS = ["--dist"]
SCRATCH, OUT, ROOT = ".build/dist", ".build/dist/out", ".build/dist/package"
OPTIONS = ["-c", "release", "--traits", "Programs", "--static-swift-stdlib", "--scratch-path", SCRATCH]


def output(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text, is_packed=False):
    """A packed file has neither a name nor a time in it."""
    with open(path, "wb") as file:
        if is_packed:
            with gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
                packed.write(text.encode())
        else:
            file.write(text.encode())


def licenses():
    """What the licenses of everything that is linked into the program ask to be passed on. LICENSE is the text of most of them."""
    yield read("NOTICE")
    for folder in sorted(glob.glob(SCRATCH + "/checkouts/*")):
        yield f"\n\n{os.path.basename(folder)} {output('git', '-C', folder, 'describe', '--tags', '--always').strip()}\n\n"
        for path in sorted(glob.glob(folder + "/LICENSE*") + glob.glob(folder + "/NOTICE*")):
            if os.path.isfile(path) and "TERMS AND CONDITIONS FOR USE, REPRODUCTION" not in read(path):
                yield read(path)
    yield "\n\nICU, a part of Foundation\n\n" + read("packaging/licenses/ICU")


def program(version):
    # No folder of the machine in the program, no debugging information that is stripped anyway, and all addresses resolved at start.
    here = os.getcwd()
    place = build.build(
        "dist", *OPTIONS, "-j", os.environ.get("JOBS") or str(os.cpu_count()), "--product", "handstamp", "--disable-local-rpath", "-debug-info-format", "none",
        "-Xswiftc", "-file-prefix-map", "-Xswiftc", f"{here}=.", "-Xcc", f"-ffile-prefix-map={here}=.",
        "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now", is_optimized=False, words="handstamp")
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    subprocess.run(["strip", "--strip-all", "--remove-section=.comment", "-o", OUT + "/handstamp", place + "/handstamp"], check=True)
    if output(OUT + "/handstamp", "--version").strip() != version:
        sys.exit(f"handstamp --version is not {version}")
    for shell in ("bash", "zsh", "fish"):
        write(f"{OUT}/handstamp.{shell}", output(OUT + "/handstamp", "completion", shell))
    write(OUT + "/handstamp.1.gz", re.sub(r"(?m)^\.Os$", f".Os handstamp {version}", read("docs/handstamp.1")), is_packed=True)
    write(OUT + "/copyright", "".join(licenses()))
    shutil.copy("LICENSE", OUT + "/LICENSE")
    print(f"{OUT}/handstamp is handstamp {version}, {os.path.getsize(OUT + '/handstamp') // 1000000} MB")


def package(version):
    shutil.rmtree(ROOT, ignore_errors=True)
    output("sh", "scripts/install", env=dict(os.environ, PREFIX="/usr", DESTDIR=ROOT, ZSH_FUNCTIONS="share/zsh/vendor-completions"))
    subprocess.run(["install", "-D", "-m", "644", "packaging/handstamp.default", ROOT + "/etc/default/handstamp"], check=True)
    docs = ROOT + "/usr/share/doc/handstamp"
    os.remove(docs + "/LICENSE")
    write(docs + "/copyright", "The Apache License, Version 2.0, is in /usr/share/common-licenses/Apache-2.0 on Debian.\n\n" + read(OUT + "/copyright"))
    write(docs + "/changelog.gz", read("CHANGELOG.md"), is_packed=True)
    maintainer = f"{os.environ.get('DEBFULLNAME', 'The Handstamp maintainers')} <{os.environ.get('DEBEMAIL', 'maintainers@handstamp.example.org')}>"
    date = email.utils.formatdate(int(os.environ["SOURCE_DATE_EPOCH"])).replace("-0000", "+0000")
    write(docs + "/changelog.Debian.gz", f"handstamp ({version}-1) unstable; urgency=medium\n\n"
          f"  * Version {version}; its changes are in changelog.gz.\n\n -- {maintainer}  {date}\n", is_packed=True)
    os.makedirs(SCRATCH + "/shlibdeps/debian", exist_ok=True)
    os.makedirs(ROOT + "/DEBIAN")
    write(SCRATCH + "/shlibdeps/debian/control", "Source: handstamp\n\nPackage: handstamp\nArchitecture: any\n")
    depends = re.search(r"^shlibs:Depends=(.*)$", output("dpkg-shlibdeps", "-O", "-S../package", "../package/usr/bin/handstamp", cwd=SCRATCH + "/shlibdeps"), re.M)[1]
    facts = dict(version=version, architecture=output("dpkg", "--print-architecture").strip(), maintainer=maintainer, depends=depends,
                 size=output("du", "-sk", "--apparent-size", ROOT).split()[0])
    write(ROOT + "/DEBIAN/control", re.sub(r"@(\w+)@", lambda found: facts.get(found[1], found[0]), read("packaging/debian/control")))
    subprocess.run(["install", "-m", "755", *("packaging/debian/" + name for name in ("postinst", "prerm", "postrm")), ROOT + "/DEBIAN"], check=True)
    write(ROOT + "/DEBIAN/conffiles", "/etc/default/handstamp\n")
    files = sorted(os.path.relpath(f"{place}/{name}", ROOT) for place, _, names in os.walk(ROOT + "/usr") for name in names)
    write(ROOT + "/DEBIAN/md5sums", output("md5sum", *files, cwd=ROOT))
    output("dpkg-deb", "--root-owner-group", "--build", ROOT, OUT)
    print(f"{OUT}/handstamp_{version}-1_{facts['architecture']}.deb depends on {depends}")


def main(options):
    if sys.platform != "linux":
        sys.exit("packages are built on Linux only")
    os.environ.setdefault("SOURCE_DATE_EPOCH", output("git", "log", "-1", "--format=%ct").strip())
    os.environ |= dict(LC_ALL="C.UTF-8", TZ="UTC")
    os.umask(0o022)
    version = build.version()
    program(version)
    if not shutil.which("dpkg-deb") or not shutil.which("dpkg-shlibdeps"):
        print("no package: dpkg-deb and dpkg-shlibdeps of Debian are missing\n"
              "hint: on Debian: apt-get install dpkg-dev; elsewhere: make install PREFIX=/usr/local", file=sys.stderr)
        return 0
    package(version)
    return 0
