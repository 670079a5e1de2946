"""Proves the packages that `make dist` builds, on a minimal Debian of this release, which systemd boots in a container.

Uses the command as a user and the server as a service, upgrades, removes and purges the packages, and compares what is left. The container has a loopback
network of its own. Needs root."""
import glob, os, re, shutil, subprocess, sys

from kit import build, debian
from verbs import dist

NEEDS = ["--dist"]
WORK = ".build/debian"
UNIT = """[Service]
Type=oneshot
ExecStart=/bin/sh -eux /mnt/proof
ExecStopPost=/bin/sh -c 'echo $EXIT_STATUS > /mnt/status'
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=append:/mnt/output
StandardError=inherit
TimeoutStartSec=600
[Install]
WantedBy=multi-user.target
"""
run = dist.output


def tree(root):
    """The content and mode of every file below a folder."""
    paths = (os.path.join(place, name) for place, _, names in os.walk(root) for name in names)
    return {os.path.relpath(path, root): (os.stat(path).st_mode, dist.checksum(path)) for path in paths}


def check_install():
    """Everything that `make install` installs, `make uninstall` removes. The archive, unpacked as its README says, has the same files."""
    root, unpacked = os.path.abspath(WORK + "/installed"), WORK + "/unpacked"
    for folder in (root, unpacked):
        shutil.rmtree(folder, ignore_errors=True)
    surroundings = dict(os.environ, DESTDIR=root)
    run("sh", "scripts/install", env=surroundings)
    os.makedirs(unpacked)
    run("tar", "-xzf", glob.glob(dist.OUT + "/handstamp_*.tar.gz")[0], "-C", unpacked, "--strip-components=1", "--exclude=README")
    if different := set(tree(unpacked).items()) ^ set(tree(root + "/usr/local").items()):
        sys.exit("the archive and make install differ: " + " ".join(sorted({path for path, _ in different})))
    run("sh", "scripts/install", "--uninstall", env=surroundings)
    if left := [f"{place}/{name}" for place, _, names in os.walk(root) for name in names]:
        sys.exit("left by make uninstall: " + " ".join(left))
    print("make install and uninstall: nothing left; the archive has the same files", flush=True)


def prepare(system):
    dist.write(system + "/etc/systemd/system/proof.service", UNIT)
    run("chroot", system, "systemctl", "--quiet", "enable", "proof.service")
    run("chroot", system, "useradd", "--create-home", "ada")


def main(options):
    if os.geteuid():
        sys.exit("a container needs root\nhint: sudo scripts/dev dist-check")
    if status := dist.main(options):
        return status
    version, packages = build.version(), [glob.glob(f"{dist.OUT}/{name}_*.deb")[0] for name in build.PROGRAMS]
    os.makedirs(WORK, exist_ok=True)
    check_install()
    # Foundation's static libraries contain zlib, and the package is not uploaded to Debian.
    run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "embedded-library,initial-upload-closes-no-bugs", *packages)
    print("lintian: no errors or warnings", flush=True)
    depends = re.sub(r"\([^)]*\)|\|[^,]*| ", "", ",".join(run("dpkg-deb", "-f", package, "Depends").strip() for package in packages))
    debian.make_system(WORK, f"systemd,dbus,curl,{depends}", prepare)
    mounted = os.path.abspath(WORK + "/mnt")
    shutil.rmtree(mounted, ignore_errors=True)
    os.makedirs(mounted)
    for name in ("status", "output", "passed"):
        dist.write(f"{mounted}/{name}", "")
    for name, package in zip(build.PROGRAMS, packages):
        shutil.copy(package, f"{mounted}/{name}.deb")
    dist.write(mounted + "/proof", dist.read("packaging/debian/proof").replace("@version@", version))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", mounted + "/key.pem", "-out", mounted + "/certificate.pem"], check=True, stderr=subprocess.DEVNULL)
    with open(WORK + "/boot.log", "w") as log:
        subprocess.run(["timeout", "-k", "10", "700", "systemd-nspawn", "--quiet", f"--directory={WORK}/system", "--volatile=overlay", f"--bind={mounted}:/mnt",
                        "--private-network", "--register=no", "--keep-unit", "--console=pipe", "--boot"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    if dist.read(mounted + "/status").strip() != "0":
        boot = dist.read(WORK + "/boot.log").splitlines()[-30:]
        sys.exit("\n".join([*boot, dist.read(mounted + "/output"), f"the package fails on Debian {debian.release()}"]))
    print(dist.read(mounted + "/passed"), end="")
