"""Nodes of a session server, and a proxy in front of them."""
import os, shutil, socket, subprocess

from kit import server
from kit.server import told
from kit.web import Client, require, until


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Node(server.Server):
    """A node with a folder of its own. With a network, it listens there."""

    def __init__(self, number, folder, port, issuer, database, network=None):
        self.number, self.folder, self.port, self.network = number, f"{folder}/node{number}", port, network
        self.issuer, self.database, self.process, self.wrapper = issuer, database, None, []
        self.host = network.host if network else "127.0.0.1"
        os.makedirs(self.folder)

    @property
    def data(self):
        return self.folder + "/data"

    def start(self):
        inside = ["ip", "netns", "exec", self.network.name] if self.network else []
        trusted = "127.0.0.1" + (f",{self.network.whole}" if self.network else "")
        self.launch(*(["--database", self.database] if self.database else []), "--host", self.host, "--issuer", self.issuer,
                    "--trusted-proxies", trusted, "--sign-up", "open", "--rate-limits", "none", "--access-token-life", "1h",
                    "--reauthenticate-after", "1h", "--shutdown-delay", "1s", "--log-level", "notice", port=self.port, wrapper=[*inside, *self.wrapper])
        self.wait()

    def wait(self, seconds=60):
        """Until it is ready."""
        until(self.is_ready, lambda: f"node {self.number} is not ready: " + self.log(), seconds)

    def is_ready(self):
        require(self.runs(), f"node {self.number} has ended: " + self.log())
        try:
            return Client(self, timeout=3).get("/ready").status == 200
        except OSError:
            return False

    stop = server.Server.end

    def move(self, source, target):
        """Moves all sessions while no node runs. Returns the number of rows of each table."""
        return {table["name"]: table["count"] for table in told("admin", "copy", "--from", source, "--to", target)["tables"]}

    def restore(self):
        """Ends again what this node had ended, in a database that was restored. Returns the number of sessions."""
        return told("admin", "database", "restore", "--data", self.data, "--database", self.database)["endedAgain"]

    def take_keys(self, other):
        """The keys of another node, as an operator copies them."""
        os.makedirs(self.data, mode=0o700)
        for name in ("keys.json", "signing.pem", "signing.json"):
            if os.path.exists(f"{other.data}/{name}"):
                shutil.copy2(f"{other.data}/{name}", f"{self.data}/{name}")


class Proxy:
    """HAProxy, which asks the nodes whether they are ready."""
    host = "127.0.0.1"

    def __init__(self, folder, port, nodes):
        self.folder, self.port, self.process = folder, port, None
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
    def start(self):
        with open(self.folder + "/haproxy.log", "w") as log:
            self.process = subprocess.Popen(["haproxy", "-db", "-f", self.folder + "/haproxy.cfg"], stdout=log, stderr=log)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
