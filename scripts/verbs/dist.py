"""Builds what is distributed for Linux, into .build/dist/out: the stripped programs, their manuals, completions and licenses, an archive of them for this
architecture, the Homebrew formula, release notes and checksums, and on Debian a package for each.

Swift's own libraries are linked statically, the system's dynamically. With scripts/dev --program, packs that program instead of building one. Publishes
nothing."""
import contextlib, email.utils, glob, gzip, hashlib, os, pathlib, platform, re, shutil, subprocess, sys, tempfile

from kit import build, server

NEEDS = ["--dist"]
SCRATCH, OUT, ROOT = ".build/dist", ".build/dist/out", ".build/dist/package"
REPOSITORY = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{os.environ.get('GITHUB_REPOSITORY', 'example/handstamp')}"
# As Debian and Homebrew's users name them, and the part of a formula.
ARCHITECTURES = {"x86_64": ("amd64", "on_intel"), "aarch64": ("arm64", "on_arm")}


def options(parser):
    parser.add_argument("--gather", metavar="FOLDER", help="builds nothing, and writes formula, release notes and checksums for the archives in a folder")


def output(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def write(path, text, is_packed=False):
    """A packed file has neither a name nor a time in it."""
    pathlib.Path(path).write_bytes(gzip.compress(text.encode(), mtime=0) if is_packed else text.encode())


def licenses():
    """What the licenses of everything that is linked into the program ask to be passed on. LICENSE is the text of most of them."""
    yield read("NOTICE")
    for folder in sorted(glob.glob((".build" if build.given else SCRATCH) + "/checkouts/*")):
        yield f"\n\n{os.path.basename(folder)} {output('git', '-C', folder, 'describe', '--tags', '--always').strip()}\n\n"
        for path in sorted(glob.glob(folder + "/LICENSE*") + glob.glob(folder + "/NOTICE*")):
            if os.path.isfile(path) and "TERMS AND CONDITIONS FOR USE, REPRODUCTION" not in read(path):
                yield read(path)
    yield "\n\nICU, a part of Foundation\n\n" + read("packaging/licenses/ICU")


@contextlib.contextmanager
def libcurl_for(name):
    """Links `handstamp` without libcurl, see packaging/libcurl.c, by another library of that name where SwiftPM has the linker look first. Options would
    have all be compiled again for the server, which sends its mails with libcurl."""
    folder = f"{SCRATCH}/{build.target()[0]}/release"
    library = folder + "/libcurl.a"
    if name == "handstamp":
        os.makedirs(folder, exist_ok=True)
        clang = shutil.which("clang", path=os.path.dirname(shutil.which(build.SWIFTC)) + os.pathsep + os.environ["PATH"])
        output(clang, "-O2", "-c", "packaging/libcurl.c", "-o", folder + "/libcurl.o")
        output("ar", "rcs", library, folder + "/libcurl.o")
    try:
        yield
    finally:
        pathlib.Path(library).unlink(missing_ok=True)


def compiled(name):
    """No folder of the machine in the program, no debugging information that is stripped anyway, no names for libraries that nothing loads, and all
    addresses resolved at start."""
    here = os.getcwd()
    with libcurl_for(name):
        return build.build(
            "dist", "-c", "release", "--traits", "Programs", "--static-swift-stdlib", "--scratch-path", SCRATCH,
            "-j", os.environ.get("JOBS") or str(os.cpu_count()), "--product", name, "--disable-local-rpath", "-debug-info-format", "none",
            "-Xswiftc", "-file-prefix-map", "-Xswiftc", f"{here}=.", "-Xcc", f"-ffile-prefix-map={here}=.",
            "-Xlinker", "--no-export-dynamic", "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
            is_optimized=False, words=name) + "/" + name


def try_out(path):
    """A user signs up at the program's own server, and stays signed in. No other build finds what goes wrong in this one alone."""
    server.PROGRAM = os.path.abspath(path)
    own = server.Server()
    try:
        own.launch()
        with tempfile.TemporaryDirectory() as home:
            for words in (["signup", "ada@example.org", "--server", own.url], ["refresh"], ["sessions"], ["logout"]):
                done = server.command(*words, text="correct horse battery\n", HANDSTAMP_HOME=home)
                if done.returncode:
                    sys.exit(f"handstamp {words[0]} of the built program ended with {done.returncode}\n{done.stderr}")
    finally:
        own.remove()


def programs(version):
    paths = {name: build.given and build.given + name.removeprefix("handstamp") or compiled(name) for name in build.PROGRAMS}
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    for name, path in paths.items():
        stripped = f"{OUT}/{name}"
        subprocess.run(["strip", "--strip-all", "--remove-section=.comment", "-o", stripped, path], check=True)
        if output(stripped, "--version").strip() != version:
            sys.exit(f"{name} --version is not {version}")
        for shell in ("bash", "zsh", "fish"):
            write(f"{stripped}.{shell}", output(stripped, "completion", shell))
        write(stripped + ".1.gz", re.sub(r"(?m)^\.Os$", f".Os {name} {version}", read(f"docs/{name}.1")), is_packed=True)
        print(f"{stripped} is {name} {version}, {os.path.getsize(stripped) // 1000000} MB")
    try_out(OUT + "/handstamp")
    write(OUT + "/copyright", "".join(licenses()))
    shutil.copy("LICENSE", OUT + "/LICENSE")


def libraries(path):
    """The system's libraries that a program is linked to."""
    found = re.findall(r"^ *NEEDED +(\S+)$", output("objdump", "-p", path), re.M)
    if swift := [name for name in found if re.match(r"lib(swift|_?Foundation|dispatch|BlocksRuntime)", name)]:
        sys.exit(f"{path} is linked to Swift's libraries dynamically: {' '.join(swift)}")
    if any("curl" in name for name in found) != path.endswith("-server"):
        sys.exit(f"{path}: libcurl is for the server's mails, and loads at each start of handstamp otherwise; see packaging/libcurl.c")
    return sorted(found)


def debian_package(library):
    """The package of a library, where Debian's tools are."""
    found = subprocess.run(f"dpkg-query -S '*/{library}'", shell=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return found.split(":")[0].split(",")[0]


def readme(version, architecture):
    paths = [f"{OUT}/{name}" for name in build.PROGRAMS]
    needed = "".join(f"    {name:24}{debian_package(name)}".rstrip() + "\n" for name in sorted({name for path in paths for name in libraries(path)}))
    glibc = max(re.findall(r"\bGLIBC_(\d+\.\d+)", output("objdump", "-T", *paths)), key=lambda text: [int(part) for part in text.split(".")])
    facts = dict(version=version, architecture=architecture, libraries=needed, glibc=glibc, system=platform.freedesktop_os_release()["PRETTY_NAME"])
    return filled(read("packaging/archive/README"), facts)


def filled(template, facts):
    return re.sub(r"@(\w+)@", lambda found: facts.get(found[1], found[0]), template)


def archive(version):
    """Holds what `make install` installs below a prefix, which has to be /usr/local for the unit of the server, and a README."""
    architecture, _ = ARCHITECTURES.get(platform.machine(), (platform.machine(), None))
    name, root = f"handstamp_{version}_linux_{architecture}", SCRATCH + "/archive"
    shutil.rmtree(root, ignore_errors=True)
    output("sh", "scripts/install", env=dict(os.environ, PREFIX="/usr/local", DESTDIR=root))
    write(root + "/usr/local/README", readme(version, architecture))
    # Neither a name nor a time of this machine.
    output("tar", "--create", "--use-compress-program=gzip -9n", "--file", f"{OUT}/{name}.tar.gz", "--format=ustar", "--sort=name",
           "--owner=root:0", "--group=root:0", "--mtime=@" + os.environ["SOURCE_DATE_EPOCH"], f"--transform=s,^local,{name},", "--directory", root + "/usr", "local")
    print(f"{OUT}/{name}.tar.gz, {os.path.getsize(f'{OUT}/{name}.tar.gz') // 1000000} MB")


def checksum(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def gather(version, folder):
    """Writes what is about all files of a release into their folder: the formula of the architectures that are there, notes and checksums."""
    parts = []
    for architecture, block in ARCHITECTURES.values():
        path = f"{folder}/handstamp_{version}_linux_{architecture}.tar.gz"
        if os.path.exists(path):
            parts += [f"    {block} do", f'      url "{REPOSITORY}/releases/download/{version}/{os.path.basename(path)}"',
                      f'      sha256 "{checksum(path)}"', "    end"]
    if not parts:
        sys.exit(f"no archive of handstamp {version} in {folder}")
    write(folder + "/handstamp.rb", filled(read("packaging/handstamp.rb"), dict(version=version, repository=REPOSITORY, archives="\n".join(parts))))
    section = re.search(rf"(?ms)^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", read("CHANGELOG.md"))[1].strip()
    # A page of a release is elsewhere than the files that the changelog links to.
    write(folder + "/release-notes.md", re.sub(r"\]\((?![a-z]+:|#)", f"]({REPOSITORY}/blob/{version}/", section) + "\n")
    names = sorted(os.path.basename(path) for path in glob.glob(folder + "/handstamp*_*"))
    write(folder + "/SHA256SUMS", output("sha256sum", *names, cwd=folder))
    print(f"{folder}/handstamp.rb, release-notes.md, SHA256SUMS of {' '.join(names)}")


def package(version, name):
    is_server = name == "handstamp-server"
    shutil.rmtree(ROOT, ignore_errors=True)
    output("sh", "scripts/install", env=dict(os.environ, PROGRAMS=name, PREFIX="/usr", DESTDIR=ROOT, ZSH_FUNCTIONS="share/zsh/vendor-completions"))
    if is_server:
        subprocess.run(["install", "-D", "-m", "644", "packaging/handstamp.default", ROOT + "/etc/default/handstamp"], check=True)
    docs = f"{ROOT}/usr/share/doc/{name}"
    os.remove(docs + "/LICENSE")
    write(docs + "/copyright", "The Apache License, Version 2.0, is in /usr/share/common-licenses/Apache-2.0 on Debian.\n\n" + read(OUT + "/copyright"))
    write(docs + "/changelog.gz", read("CHANGELOG.md"), is_packed=True)
    maintainer = f"{os.environ.get('DEBFULLNAME', 'The Handstamp maintainers')} <{os.environ.get('DEBEMAIL', 'maintainers@handstamp.example.org')}>"
    date = email.utils.formatdate(int(os.environ["SOURCE_DATE_EPOCH"])).replace("-0000", "+0000")
    write(docs + "/changelog.Debian.gz", f"{name} ({version}-1) unstable; urgency=medium\n\n"
          f"  * Version {version}; its changes are in changelog.gz.\n\n -- {maintainer}  {date}\n", is_packed=True)
    os.makedirs(SCRATCH + "/shlibdeps/debian", exist_ok=True)
    os.makedirs(ROOT + "/DEBIAN")
    write(SCRATCH + "/shlibdeps/debian/control", f"Source: handstamp\n\nPackage: {name}\nArchitecture: any\n")
    depends = re.search(r"^shlibs:Depends=(.*)$", output("dpkg-shlibdeps", "-O", "-S../package", "../package/usr/bin/" + name, cwd=SCRATCH + "/shlibdeps"), re.M)[1]
    facts = dict(version=version, architecture=output("dpkg", "--print-architecture").strip(), maintainer=maintainer, depends=depends,
                 size=output("du", "-sk", "--apparent-size", ROOT).split()[0])
    write(ROOT + "/DEBIAN/control", filled(read("packaging/debian/control" + ".server" * is_server), facts))
    if is_server:
        subprocess.run(["install", "-m", "755", *("packaging/debian/" + step for step in ("postinst", "prerm", "postrm")), ROOT + "/DEBIAN"], check=True)
        write(ROOT + "/DEBIAN/conffiles", "/etc/default/handstamp\n")
    files = sorted(os.path.relpath(f"{place}/{file}", ROOT) for place, _, names in os.walk(ROOT + "/usr") for file in names)
    write(ROOT + "/DEBIAN/md5sums", output("md5sum", *files, cwd=ROOT))
    output("dpkg-deb", "--root-owner-group", "--build", ROOT, OUT)
    print(f"{OUT}/{name}_{version}-1_{facts['architecture']}.deb depends on {depends}")


def main(options):
    version = build.version()
    if getattr(options, "gather", None):
        gather(version, options.gather)
        return 0
    if sys.platform != "linux":
        sys.exit("packages are built on Linux only")
    os.environ.setdefault("SOURCE_DATE_EPOCH", output("git", "log", "-1", "--format=%ct").strip())
    os.environ |= dict(LC_ALL="C.UTF-8", TZ="UTC")
    os.umask(0o022)
    programs(version)
    archive(version)
    if shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"):
        for name in build.PROGRAMS:
            package(version, name)
    else:
        print("no package: dpkg-deb and dpkg-shlibdeps of Debian are missing\n"
              "hint: on Debian: apt-get install dpkg-dev; elsewhere: make install PREFIX=/usr/local", file=sys.stderr)
    gather(version, OUT)
