"""A network of its own for one node, on addresses that are free; and what runs that were killed have left behind."""
import glob, ipaddress, json, os, random, re, shutil, signal, subprocess, tempfile

# With the process that made it, in names of folders, networks and their lines.
NAMES = re.compile(r"cluster-(\d+)-|handstamp-(\d+)\b|hs[pd](\d+)[hn]")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def free_network(routes, draws=2000):
    """Eight addresses that no route leads to: four for each line."""
    taken = [ipaddress.ip_network(route, strict=False) for route in routes if route != "default"]
    for _ in range(draws):
        network = ipaddress.ip_network(f"10.{random.randrange(64, 256)}.{random.randrange(256)}.{8 * random.randrange(32)}/29")
        if not any(network.overlaps(other) for other in taken):
            return network
    raise RuntimeError("no free addresses in 10.0.0.0/8")


class Network:
    """One line to the proxy, and one to the database that can be cut."""

    def __init__(self):
        # Every table: a VPN has one of its own.
        routes = [route["dst"] for route in json.loads(run("ip", "-4", "-j", "route", "show", "table", "all")) if route.get("type", "unicast") == "unicast"]
        self.whole, pid = free_network(routes), os.getpid()
        self.name, self.lines, inside = f"handstamp-{pid}", [], ["ip", "netns", "exec", f"handstamp-{pid}", "ip"]
        run("ip", "netns", "add", self.name)
        for letter, line in zip("pd", self.whole.subnets(prefixlen_diff=1)):
            here, there, (near, far) = f"hs{letter}{pid}h", f"hs{letter}{pid}n", line.hosts()
            run("ip", "link", "add", here, "type", "veth", "peer", "name", there)
            run("ip", "link", "set", there, "netns", self.name)
            run("ip", "address", "add", f"{near}/30", "dev", here)
            run("ip", "link", "set", here, "up")
            run(*inside, "address", "add", f"{far}/30", "dev", there)
            run(*inside, "link", "set", there, "up")
            self.lines.append(here)
            if letter == "p":
                self.host = str(far)
            else:
                self.database = str(near)
        run(*inside, "link", "set", "lo", "up")

    def cut(self, is_cut=True):
        """Loses every packet between the node and the database."""
        run("ip", "link", "set", self.lines[1], "down" if is_cut else "up")

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)
        for line in self.lines:
            subprocess.run(["ip", "link", "del", line], capture_output=True)


def is_dead(name):
    """Whether the process that a name has is gone. It may be another one by now, but not one of these."""
    found = NAMES.search(name)
    if not found:
        return False
    try:
        with open(f"/proc/{next(filter(None, found.groups()))}/cmdline", "rb") as file:
            return b"cluster" not in file.read()
    except OSError:
        return True


def remove_remains():
    """Ends what runs that were killed had started, and removes their networks, disks and folders."""
    for folder in filter(is_dead, glob.glob(tempfile.gettempdir() + "/cluster-*")):
        for place in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(place, "rb") as file:
                    if folder.encode() + b"/" in file.read():
                        os.kill(int(place.split("/")[2]), signal.SIGKILL)
            except OSError:
                pass
        if os.path.ismount(folder + "/disk"):
            subprocess.run(["umount", "-l", folder + "/disk"])
        shutil.rmtree(folder, ignore_errors=True)
    for line in filter(is_dead, re.findall(r"\b(hs[pd]\d+h)", run("ip", "-o", "link"))):
        subprocess.run(["ip", "link", "del", line], capture_output=True)
    for name in filter(is_dead, run("ip", "netns", "list").split()):
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
