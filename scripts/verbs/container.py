"""Checks packaging/Containerfile and packaging/compose.yaml without a container engine.

Resolves their packages, paths, services and settings. With --deep, runs the steps of the Containerfile's last stage in a Debian of its own, and
starts the four services as compose.yaml says: the server in that Debian, and PostgreSQL, a mail catcher and Caddy of this machine beside it. Needs
root for that."""
import glob, hashlib, ipaddress, json, os, re, shlex, shutil, subprocess, sys, tempfile

import composed, yaml
from kit import build, debian
from kit.web import Lost, require, until
from verbs import dist

NEEDS = ["--tests"]
FILE, COMPOSE, CADDY = "packaging/Containerfile", "packaging/compose.yaml", "packaging/Caddyfile"
WORK = ".build/container"
PASSWORD = "a-password-of-the-check"
# Of the compose specification, those that may be used here.
KEYS = {
    "": "name services networks volumes",
    "service": "build cap_drop command depends_on entrypoint environment healthcheck image networks ports read_only restart secrets security_opt "
               "stop_grace_period stop_signal tmpfs user volumes",
    "build": "context dockerfile target args",
    "healthcheck": "test interval timeout retries start_period",
    "network": "driver ipam internal",
}


def options(parser):
    parser.add_argument("--deep", action="store_true", help="runs the steps and the services")


class Image:
    """The instructions of the Containerfile, as words and the rest of the line, in stages."""

    def __init__(self):
        self.text = dist.read(FILE)
        lines = re.sub(r"(?m)^#.*\n", "", self.text).replace("\\\n", "").splitlines()
        self.stages = []
        for word, rest in (line.split(None, 1) for line in lines if line.strip()):
            if word == "FROM":
                self.stages.append([])
            self.stages[-1].append((word, rest))

    def all(self, word, stage=-1):
        return [rest for name, rest in self.stages[stage] if name == word]

    def one(self, word):
        require(len(self.all(word)) == 1, f"{FILE}: not one {word} in the last stage")
        return self.all(word)[0]

    def is_here(self, stage):
        """Whether a stage is on the release of this system."""
        return debian.release() and re.search(rf"\b{debian.release()}\b", self.stages[stage][0][1])

    @property
    def environment(self):
        return dict(word.split("=", 1) for rest in self.all("ENV") for word in shlex.split(rest))

    @property
    def user(self):
        """The name of the user whose number USER has."""
        found = re.search(rf"useradd .*--uid {self.one('USER')} .*?(\w+) (?:&&|$)", " ".join(self.all("RUN")))
        require(found and int(self.one("USER")), f"{FILE}: USER is not one that is added")
        return found[1]

    @property
    def command(self):
        return json.loads(self.one("ENTRYPOINT"))

    @property
    def health(self):
        return json.loads(self.one("HEALTHCHECK").split(" CMD ", 1)[1])


def read_compose(variables={}):
    """The file with these variables, or their defaults. Those without a default are a password."""
    def value(found):
        return variables.get(found[1], found[3] if found[2] == "-" else PASSWORD)

    return yaml.safe_load(re.sub(r"\$\{(\w+):(.)([^}]*)\}", value, dist.read(COMPOSE)))


def unknown(packages):
    shown = subprocess.run(["apt-cache", "policy", *packages], check=True, stdout=subprocess.PIPE, text=True, env=dict(os.environ, LC_ALL="C")).stdout
    return sorted(set(packages) - set(re.findall(r"^(\S+):\n(?:  .*\n)*?  Candidate: (?!\(none\))", shown, re.M)))


def check_packages(image):
    for number, stage in enumerate(image.stages):
        if not image.is_here(number):
            print(f"left out: this is {debian.release()}, so the packages for {stage[0][1]} are not looked up")
            continue
        wanted = [name for run in image.all("RUN", number) for words in re.findall(r"apt-get install (.*?)(?:&&|$)", run)
                  for name in words.split() if not name.startswith("-")]
        if missing := unknown(wanted):
            debian.apt("update")
            missing = unknown(wanted)
        require(not missing, f"{FILE}: not in Debian {debian.release()}: {' '.join(missing)}")


def check_paths(image):
    """What is copied is there, and is enough for the manifest, which names the folders of all targets."""
    with tempfile.TemporaryDirectory() as folder:
        for rest in image.all("COPY", 0):
            source, target = rest.split()
            require(dist.output("git", "ls-files", source), f"{FILE}: COPY {source}: no such path in the source")
            target = os.path.normpath(os.path.join(folder, target, os.path.basename(source) if target.endswith("/") else ""))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)
        done = subprocess.run([build.SWIFT, "package", "describe", "--package-path", folder], capture_output=True, text=True)
        require(not done.returncode, f"{FILE}: what is copied is no package: {done.stderr}")
        for path in glob.glob(folder + "/Sources/C/*/*.c"):
            for name in re.findall(r'^#embed "(.*)"', open(path).read(), re.M):
                require(os.path.exists(os.path.join(os.path.dirname(path), name)), f"{FILE}: does not copy {name}, which {os.path.basename(path)} embeds")
    source, target = image.one("COPY").split()[1:]
    require(f" {source} " in " ".join(image.all("RUN", 0)), f"{FILE}: no step of the first stage makes {source}")
    require(image.command[0] == target, f"{FILE}: ENTRYPOINT is not {target}")


def check_settings(image, environment, words, is_quiet=False):
    """The server takes these variables; it refuses what is no setting."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("HANDSTAMP_")} | image.environment | environment
    # The folder of the data is that of a container.
    variables["HANDSTAMP_SERVE_DATA"] = os.path.abspath(WORK + "/none")
    done = subprocess.run([build.operators(build.program()), *image.command[1:], "--check"], env=variables, capture_output=True, text=True)
    require(not done.returncode, f"{words}: {done.stderr}")
    require(not is_quiet or not done.stderr, f"{words}: {done.stderr}")
    require(re.search(rf"(?m)^port .* {image.one('EXPOSE')} ", done.stdout), f"{words}: the port is not exposed")


def check_compose(image, compose):
    services, folder = compose["services"], os.path.dirname(COMPOSE)
    parts = [("", compose), *(("network", network) for network in compose["networks"].values())]
    for name, service in services.items():
        parts += [("service", service), ("build", service.get("build")), ("healthcheck", service.get("healthcheck"))]
        require(("image" in service) != ("build" in service), f"{COMPOSE}: {name} needs an image or a build")
        require(set(service.get("depends_on", [])) <= set(services), f"{COMPOSE}: {name} depends on what is not there")
        require(set(service.get("networks", {})) <= set(compose["networks"]), f"{COMPOSE}: {name} is in a network that is not there")
        for source in (volume.split(":")[0] for volume in service.get("volumes", [])):
            require(os.path.isfile(f"{folder}/{source}") if source.startswith(".") else source in compose["volumes"], f"{COMPOSE}: no volume {source}")
    for kind, part in parts:
        wrong = set(part or {}) - set(KEYS[kind].split())
        require(not wrong, f"{COMPOSE}: not a key of {kind or 'the file'} that is known: {' '.join(sorted(wrong))}")
    server, whole = services["server"], compose["networks"]["default"]["ipam"]["config"][0]
    place = os.path.join(folder, server["build"]["context"], server["build"]["dockerfile"])
    require(os.path.normpath(place) == FILE, f"{COMPOSE}: the server is built from {place}")
    require(server["healthcheck"]["test"] == ["CMD", *image.health], f"{COMPOSE}: the server's health is checked otherwise than in {FILE}")
    require(server["volumes"] == ["data:" + image.one("VOLUME")], f"{COMPOSE}: the volume of the server is another than in {FILE}")
    proxy = ipaddress.ip_address(services["proxy"]["networks"]["default"]["ipv4_address"])
    require(proxy in ipaddress.ip_network(whole["subnet"]) and proxy not in ipaddress.ip_network(whole["ip_range"]),
            f"{COMPOSE}: another service may have the address of the proxy")
    # As it is, and as its first lines say for a public server.
    public = read_compose(dict(re.findall(r"^#   ([A-Z]+)=(\S+)$", dist.read(COMPOSE), re.M)))
    require(public != compose, f"{COMPOSE}: its first lines name no variables")
    for services in (services, public["services"]):
        check_settings(image, services["server"]["environment"], COMPOSE, is_quiet=True)
        done = subprocess.run(["caddy", "validate", "--adapter", "caddyfile", "--config", CADDY], env=dict(os.environ, **services["proxy"]["environment"]),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        require(not done.returncode, f"{CADDY}: {done.stdout}")


def make_system(image, program):
    """Runs the steps of the last stage in a minimal Debian, in their order."""
    steps = image.all("RUN")

    def prepare(system):
        for step in steps:
            done = subprocess.run(["chroot", system, "/bin/sh", "-c", step], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env=dict(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", DEBIAN_FRONTEND="noninteractive"))
            require(not done.returncode, f"{FILE}: RUN {step}: {done.stdout[-2000:]}")

    system = debian.make_system(os.path.abspath(WORK), "", prepare, hashlib.sha256("\n".join(steps).encode()).hexdigest())
    folder = os.stat(system + image.one("VOLUME"))
    require(folder.st_uid == int(image.one("USER")) and folder.st_mode & 0o777 == 0o700, f"{FILE}: VOLUME is no folder of the user's")
    shutil.copy(program, system + image.command[0])
    if not build.given:
        missing = re.findall(r"(\S+) => not found", dist.output("chroot", system, "ldd", image.command[0]))
        require(not missing, f"{FILE}: libraries that no package brings: {' '.join(missing)}")
    return system


def run(image, compose):
    if os.geteuid():
        sys.exit("a Debian of its own needs root\nhint: sudo scripts/dev container --deep")
    require(image.is_here(-1), f"the image is {image.one('FROM')}, and this is {debian.release()}")
    debian.install("debootstrap", "systemd-container")
    program = build.operators(build.given or dist.OUT + "/handstamp")
    if not os.path.exists(program):
        sys.exit("no program to put into the image\nhint: make dist")
    system = make_system(image, program)
    print("the steps of the last stage: done in a Debian of its own", flush=True)
    services = composed.Services(compose, image, system)
    try:
        services.start(os.path.abspath(CADDY))
        issuer = compose["services"]["server"]["environment"]["HANDSTAMP_SERVE_ISSUER"]
        client = json.loads(services.ask(issuer + "/v1/client-address"))
        require(client["source"] == "proxy" and client["address"] == "127.0.0.1", f"the client is not who asked the proxy: {client}")
        asked = services.ask(issuer + "/v1/sign-up", "-H", "Content-Type: application/json", "-d", json.dumps(
            {"email": "ada@example.org", "username": "Ada", "password": "correct horse battery", "device": {"id": "d-1", "name": "curl", "platform": "linux"}}))
        require("confirmation_sent" in asked, f"sign-up: {asked}")
        until(lambda: re.search(r"^To:.*ada@example.org", services.log("mail"), re.M) and issuer in services.log("mail"), "no mail came to the catcher")
        require(services.stop_server() == 0, f"the server ends with an error: {services.log('server')[-2000:]}")
        services.start_server()
        require("issuer" in services.ask(issuer + "/.well-known/openid-configuration"), "no metadata")
    finally:
        services.remove()
    print("the services of compose.yaml: healthy, a sign-up through the proxy sends a mail, and the server restarts")


def main(options):
    try:
        image, compose = Image(), read_compose()
        check_packages(image)
        check_paths(image)
        check_settings(image, dict(word.split("=", 1) for word in re.findall(r"-e (\S+)", image.text)), f"{FILE}, podman run")
        check_compose(image, compose)
        print("Containerfile and compose.yaml: packages, paths, services and settings exist", flush=True)
        if options.deep:
            run(image, compose)
    except Lost as error:
        print(error, file=sys.stderr)
        return 1
