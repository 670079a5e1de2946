"""The services of packaging/compose.yaml without a container engine, in a network namespace of their own."""
import ipaddress, os, re, shutil, signal, subprocess, sys, tempfile

from clusters.database import OWNER, PROGRAMS
from clusters.network import run
from kit.web import require, until


class Network:
    """A network namespace, in which each service has its address. To the server others come from that of the proxy."""

    def __init__(self, compose):
        hosts, own = ipaddress.ip_network(compose["networks"]["default"]["ipam"]["config"][0]["subnet"]).hosts(), compose["services"]
        proxy = own["proxy"]["networks"]["default"]["ipv4_address"]
        free = (str(address) for address in hosts if str(address) != proxy)
        self.addresses = {name: proxy if name == "proxy" else next(free) for name in own}
        self.name = f"composed-{os.getpid()}"
        self.within = ["ip", "netns", "exec", self.name]

    def make(self):
        run("ip", "netns", "add", self.name)
        run("ip", "-n", self.name, "link", "set", "lo", "up")
        for address in self.addresses.values():
            run("ip", "-n", self.name, "address", "add", address + "/32", "dev", "lo")
        run("ip", "-n", self.name, "route", "replace", "local", self.addresses["server"], "dev", "lo", "src", self.addresses["proxy"], "table", "local")

    @property
    def hosts(self):
        return "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in self.addresses.items())

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)


class Services:
    """What runs, with a log of each, in a folder of their own."""

    def __init__(self, compose, image, system):
        self.compose, self.image, self.system = compose["services"], image, system
        self.folder, self.processes, self.network = tempfile.mkdtemp(prefix="composed-"), {}, Network(compose)
        os.chmod(self.folder, 0o711)

    def start(self, caddyfile):
        self.network.make()
        with open(self.folder + "/hosts", "w") as file:
            file.write(self.network.hosts)
        self.start_database()
        self.start_mail()
        self.start_server()
        self.start_proxy(caddyfile)

    def launch(self, service, *command, is_within=True, **environment):
        command = [*(self.network.within if is_within else []), *command]
        with open(f"{self.folder}/{service}.log", "a") as log:
            self.processes[service] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=dict(os.environ, **environment))

    def log(self, service):
        with open(f"{self.folder}/{service}.log", errors="replace") as file:
            return file.read()

    def healthy(self, service, words, *command, **more):
        """Waits until a command in the service's network succeeds; returns its output."""
        last = ""

        def answer():
            nonlocal last
            require(self.processes[service].poll() == None, f"{words}: {self.log(service)[-3000:]}")
            done = subprocess.run([*self.network.within, *command], capture_output=True, text=True, cwd="/", **more)
            last = done.stdout + done.stderr
            return not done.returncode and (done.stdout or " ")

        return until(answer, lambda: f"{words}: {last}{self.log(service)[-3000:]}", 60)

    def start_database(self):
        """As PostgreSQL's image does: a role and its database with the same name, and passwords over TCP."""
        variables, data, password = self.compose["database"]["environment"], self.folder + "/database", self.folder + "/password"
        role = variables["POSTGRES_USER"]
        os.makedirs(data)
        with open(password, "w") as file:
            file.write(variables["POSTGRES_PASSWORD"])
        if OWNER:
            for path in (data, password):
                shutil.chown(path, "postgres", "postgres")
        subprocess.run([*OWNER, PROGRAMS + "/initdb", "-D", data, "-U", role, "-A", "scram-sha-256", "--pwfile", password, "-E", "UTF8", "--no-sync"],
                       check=True, stdout=subprocess.DEVNULL, cwd="/")
        with open(data + "/pg_hba.conf", "a") as file:
            file.write("host all all all scram-sha-256\n")
        self.launch("database", *OWNER, PROGRAMS + "/postgres", "-D", data, "-c", "listen_addresses=*", "-c", f"unix_socket_directories={data}")
        self.healthy("database", "PostgreSQL does not start", *self.compose["database"]["healthcheck"]["test"][1:])
        self.healthy("database", "no database", "createdb", "-h", "127.0.0.1", "-U", role, role,
                     env=dict(os.environ, PGPASSWORD=variables["POSTGRES_PASSWORD"]))

    def start_mail(self):
        self.launch("mail", sys.executable, "-u", "-m", "aiosmtpd", "-n", "-c", "aiosmtpd.handlers.Debugging", "stdout",
                    "-l", f"{self.network.addresses['mail']}:1025")

    def start_server(self):
        """The image's command as process 1, with the limits of compose.yaml: a system that cannot be written, no capabilities, its own user."""
        service, data = self.compose["server"], self.folder + "/data"
        if not os.path.exists(data):
            shutil.copytree(self.system + self.image.one("VOLUME"), data)
            shutil.chown(data, int(self.image.one("USER")), self.group)
        limits = [*(["--read-only"] if service["read_only"] else []), *("--tmpfs=" + place for place in service["tmpfs"]),
                  *(["--drop-capability=all"] if service["cap_drop"] == ["ALL"] else []),
                  *(["--no-new-privileges=yes"] if "no-new-privileges:true" in service["security_opt"] else [])]
        # Places to mount at, which a system that cannot be written has to have.
        for folder in self.libraries():
            os.makedirs(self.system + folder, exist_ok=True)
        with open(self.system + "/etc/hosts", "a"):
            pass
        variables = self.image.environment | service["environment"]
        self.launch("server", "systemd-nspawn", "--quiet", f"--directory={self.system}", f"--machine=composed-{os.getpid()}", "--register=no", "--keep-unit",
                    "--console=pipe", "--resolv-conf=off", f"--network-namespace-path=/run/netns/{self.network.name}", *limits,
                    f"--kill-signal={self.image.one('STOPSIGNAL')}", f"--user={self.image.user}", f"--bind={data}:{self.image.one('VOLUME')}",
                    f"--bind-ro={self.folder}/hosts:/etc/hosts", *(f"--bind-ro={folder}" for folder in self.libraries()),
                    *(f"--setenv={name}={value}" for name, value in variables.items()), "--", *self.image.command, is_within=False)
        self.healthy("server", "the server is not ready", "chroot", f"--userspec={self.image.one('USER')}:{self.group}", self.system,
                     *service["healthcheck"]["test"][1:])

    @property
    def group(self):
        return int(run("chroot", self.system, "id", "-g", self.image.one("USER")))

    def libraries(self):
        """Folders outside of the system's that the program needs: those of Swift, unless they are linked statically."""
        found = run("ldd", self.system + self.image.command[0])
        folders = sorted({os.path.dirname(path) for path in re.findall(r"=> (/\S+)", found)} - {"/lib", "/usr/lib"})
        return [folder for folder in folders if not folder.startswith(("/lib/", "/usr/lib/"))]

    def start_proxy(self, file):
        # A mount of its own, because names are looked up in one place.
        self.launch("proxy", "unshare", "--mount", "sh", "-c",
                    f"mount --bind {self.folder}/hosts /etc/hosts && exec caddy run --adapter caddyfile --config {file}",
                    XDG_DATA_HOME=self.folder, XDG_CONFIG_HOME=self.folder, **self.compose["proxy"]["environment"])

    def ask(self, url, *options):
        """What a browser on this machine gets, whose port compose.yaml publishes."""
        published, port = re.fullmatch(r".*?(\d+):(\d+)", self.compose["proxy"]["ports"][0]).groups()
        return self.healthy("proxy", url, "curl", "-sS", "--fail-with-body", "--connect-to", f"localhost:{published}:localhost:{port}", *options, url)

    def stop_server(self):
        """Returns the status."""
        self.processes["server"].send_signal(signal.SIGTERM)
        return self.processes.pop("server").wait(30)

    def remove(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(30)
        self.network.remove()
        shutil.rmtree(self.folder, ignore_errors=True)
