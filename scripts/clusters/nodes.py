"""Nodes of a session server, and a proxy in front of them."""
import http.client, json, os, shutil, signal, socket, subprocess, time

PROGRAM = ""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Node:
    """A node with a folder of its own. `host` is where it listens; with `namespace` in a network of its own."""

    def __init__(self, number, folder, port, issuer, database, host="127.0.0.1", namespace=None):
        self.number, self.folder, self.port, self.host, self.namespace = number, f"{folder}/node{number}", port, host, namespace
        self.issuer, self.database, self.process, self.wrapper = issuer, database, None, []

    def start(self, wait=True):
        log = open(self.folder + ".log", "a")
        network = ["ip", "netns", "exec", self.namespace] if self.namespace else []
        self.process = subprocess.Popen(
            [*network, *self.wrapper, PROGRAM, "serve", "--data", self.folder, *(["--database", self.database] if self.database else []),
             "--host", self.host, "--port", str(self.port), "--issuer", self.issuer, "--trusted-proxies", "127.0.0.1,10.77.0.0/16", "--sign-up", "open", "--rate-limits",
             "none", "--access-token-life", "1h", "--reauthenticate-after", "1h", "--shutdown-delay", "1s", "--log-level", "notice"],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        if wait:
            self.wait()

    def wait(self, seconds=60):
        """Until it is ready."""
        end = time.monotonic() + seconds
        while not self.is_ready():
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"node {self.number} is not ready: " + open(self.folder + ".log").read()[-1500:])
            time.sleep(0.05)

    def is_ready(self):
        try:
            return self.request("GET", "/ready", timeout=3)[0] == 200
        except OSError:
            return False

    def request(self, method, path, body=None, headers={}, timeout=20):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except http.client.HTTPException as error:
            raise OSError(str(error))
        finally:
            connection.close()

    def kill(self):
        """SIGKILL, also to what runs it in another network."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def seconds(self):
        """The processor time that it has taken."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            user, system = file.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def move(self, source, target):
        """Moves all sessions while no node runs. Returns the number of rows of each table."""
        result = subprocess.run([PROGRAM, "admin", "copy", "--from", source, "--to", target, "--json"], capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError("admin copy: " + result.stderr)
        return {table["name"]: table["count"] for table in json.loads(result.stdout)["tables"]}

    def restore(self):
        """Ends again what this node had ended, in a database that was restored. Returns the number of sessions."""
        result = subprocess.run([PROGRAM, "admin", "database", "restore", "--data", self.folder, "--database", self.database, "--json"],
                                capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError("admin database restore: " + result.stderr)
        return json.loads(result.stdout)["endedAgain"]

    def take_keys(self, other):
        """The keys of another node, as an operator copies them."""
        os.makedirs(self.folder, mode=0o700)
        for name in ("keys.json", "signing.pem", "signing.json"):
            if os.path.exists(f"{other.folder}/{name}"):
                shutil.copy2(f"{other.folder}/{name}", f"{self.folder}/{name}")


class Network:
    """A network of its own for one node: one line to the proxy, and one to the database that can be cut."""

    def __init__(self, number):
        self.name, self.lines = f"handstamp{os.getpid()}-{number}", []
        self.host, self.database = f"10.77.{number}.2", f"10.78.{number}.1"
        run("ip", "netns", "add", self.name)
        for index, (letter, net) in enumerate((("p", 77), ("d", 78))):
            here, there = f"hs{letter}{os.getpid() % 100000}h", f"hs{letter}{os.getpid() % 100000}n"
            run("ip", "link", "add", here, "type", "veth", "peer", "name", there)
            run("ip", "link", "set", there, "netns", self.name)
            run("ip", "address", "add", f"10.{net}.{number}.1/24", "dev", here)
            run("ip", "link", "set", here, "up")
            inside = ("ip", "netns", "exec", self.name, "ip")
            run(*inside, "address", "add", f"10.{net}.{number}.2/24", "dev", there)
            run(*inside, "link", "set", there, "up")
            self.lines.append(here)
        run("ip", "netns", "exec", self.name, "ip", "link", "set", "lo", "up")

    def cut(self, is_cut=True):
        """Loses every packet between the node and the database."""
        run("ip", "link", "set", self.lines[1], "down" if is_cut else "up")

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)
        for line in self.lines:
            subprocess.run(["ip", "link", "del", line], capture_output=True)


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


class Proxy:
    """HAProxy, which asks the nodes whether they are ready."""

    def __init__(self, folder, port, nodes):
        self.port = port
        servers = "\n".join(f"  server node{node.number} {node.host}:{node.port}" for node in nodes)
        with open(folder + "/haproxy.cfg", "w") as file:
            file.write(f"""
defaults
  mode http
  option forwardfor
  option redispatch
  retries 3
  retry-on conn-failure
  timeout connect 2s
  timeout client 60s
  timeout server 30s
frontend front
  bind 127.0.0.1:{port}
  default_backend nodes
backend nodes
  balance roundrobin
  option httpchk GET /ready
  http-check expect status 200
  default-server check inter 200ms fastinter 100ms fall 2 rise 1 observe layer4
{servers}
""")
        log = open(folder + "/haproxy.log", "w")
        self.process = subprocess.Popen(["haproxy", "-db", "-f", folder + "/haproxy.cfg"], stdout=log, stderr=log)

    def stop(self):
        self.process.kill()
        self.process.wait()
