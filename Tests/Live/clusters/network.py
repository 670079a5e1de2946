"""Mounts and a network that end with this process and what it starts, and in them the network of one node."""
import ctypes, subprocess

# Of <sched.h>.
NEW_MOUNTS, NEW_NETWORK = 0x20000, 0x40000000
# A disk that can be filled.
DISK = "/run"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def leave():
    """Moves this process, and what it starts from now on, to a loopback and a disk of its own. Returns whether it may, which takes root."""
    if ctypes.CDLL(None).unshare(NEW_MOUNTS | NEW_NETWORK):
        return False
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "tmpfs", "-o", "size=700m,mode=0755", "tmpfs", DISK)
    run("ip", "link", "set", "lo", "up")
    return True


class Network:
    """Of one node: one line to the proxy, and one to the database that can be cut. All other addresses are free here."""
    name, whole, host, database = "node", "10.0.0.0/29", "10.0.0.2", "10.0.0.5"

    def __init__(self):
        run("ip", "netns", "add", self.name)
        run("ip", "-n", self.name, "link", "set", "lo", "up")
        for line, near, far in (("proxy", "10.0.0.1", self.host), ("database", self.database, "10.0.0.6")):
            run("ip", "link", "add", line, "type", "veth", "peer", "name", line, "netns", self.name)
            for place, address in ([], near), (["-n", self.name], far):
                run("ip", *place, "address", "add", address + "/30", "dev", line)
                run("ip", *place, "link", "set", line, "up")

    def cut(self, is_cut=True):
        """Loses every packet between the node and the database."""
        run("ip", "link", "set", "database", "down" if is_cut else "up")
