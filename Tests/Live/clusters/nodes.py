"""Nodes of a session server, and a proxy in front of them."""
import os, re, shutil, subprocess

from kit import server
from kit.web import Client, require, until


def free_ports(count):
    """All of them different."""
    ports = set()
    while len(ports) < count:
        ports.add(server.free_port())
    return list(ports)


class Node(server.Server):
    """A node. With a network, it listens there."""

    def __init__(self, port, issuer, database, network=None):
        super().__init__()
        self.port, self.issuer, self.database, self.network, self.wrapper = port, issuer, database, network, []
        self.data, self.host = self.folder + "/data", network.host if network else "127.0.0.1"

    def start(self):
        inside = ["ip", "netns", "exec", self.network.name] if self.network else []
        trusted = "127.0.0.1" + (f",{self.network.whole}" if self.network else "")
        self.launch(*(["--database", self.database] if self.database else []), "--host", self.host, "--issuer", self.issuer,
                    "--trusted-proxies", trusted, "--sign-up", "open", "--rate-limits", "none", "--access-token-life", "1h",
                    "--reauthenticate-after", "1h", "--shutdown-delay", "1s", "--log-level", "notice", port=self.port, wrapper=[*inside, *self.wrapper])
        self.wait()

    def wait(self):
        """Until it is ready."""
        until(self.is_ready, lambda: "a node is not ready: " + self.log(), 90)

    def is_ready(self):
        require(self.runs(), "a node has ended: " + self.log())
        try:
            return Client(self, timeout=3).get("/ready").status == 200
        except OSError:
            return False

    def move(self, source, target):
        """Moves all sessions while no node runs. Returns how many."""
        return next(table["count"] for table in server.told("admin", "copy", "--from", source, "--to", target)["tables"] if table["name"] == "session")

    def restore(self):
        """Ends again what this node had ended, in a database that was restored. Returns the number of sessions."""
        return server.told("admin", "database", "restore", "--data", self.data, "--database", self.database)["endedAgain"]

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
        servers = "\n".join(f"  server node{node.port} {node.host}:{node.port}" for node in nodes)
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
  stats uri /proxy
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

    def wait(self, count):
        """Until it passes requests on to so many nodes."""
        until(lambda: len(re.findall("^nodes,node.*,UP,", Client(self).get("/proxy;csv").text, re.M)) == count, f"the proxy does not see {count} nodes")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
