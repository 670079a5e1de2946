"""Attacks by receivers of webhooks, and by those who name them: they hang, redirect, never end, and are inside the operator's network."""
import os, pathlib, socket, time

from kit.web import until
from attacks.target import FREE, Client, Holder, Server, require
from parties import hostile
from parties.hostile import Listener

# How the receivers fail that must not be waited for.
DEAF = {"hang": hostile.hang, "trickle": hostile.trickle, "endless": hostile.endless}
BAD = {"garbage": hostile.garbage, "drop": hostile.drop, "broken": hostile.document(b"{}", 500),
       "error": hostile.document(b'{"err": "' + b"\x1b[31m" * 20 + b'"}', 400)}
# This machine and the operator's network, written in all ways.
INSIDE = ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
          "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fd00:ec2::254]", "169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1",
          "198.18.0.1", "224.0.0.1", "255.255.255.255", "localhost", "LOCALHOST", "localhost.", "127.0.0.1.", "a@127.0.0.1", "127.0.0.1\\@example.org",
          "127.0.0.1%00.example.org", "127。0。0。1", "①②⑦.0.0.1", socket.gethostname()]


def listed(server):
    return {each["name"]: each for each in server.administer("GET", "/webhooks").json["webhooks"]}


def add(server, name, url, private=True):
    return server.administer("POST", "/webhooks", dict(name=name, url=url, allow_private=private))


def add_all(server, places, private=True):
    """Adds receivers at these addresses, by their names."""
    for name, url in places.items():
        answer = add(server, name, url, private)
        require(answer.status == 201, f"{name} cannot be added: {answer}")


def tried(server, *names):
    """The webhooks of these names, when each has failed once."""
    def all_tried():
        states = listed(server)
        return states if all(states[name].get("last_failure_at") for name in names) else None
    return until(all_tried, lambda: f"not tried: {[name for name in names if not listed(server)[name].get('last_failure_at')]}", 40, 0.2)


def test(server, name):
    require((answer := server.administer("POST", f"/webhooks/{name}/test")).status == 202, f"no test of {name}: {answer}")


def heard(client, honest):
    """After how many seconds an honest receiver hears of one more account."""
    began, count = time.monotonic(), len(honest.seen)
    client.guest()
    until(lambda: len(honest.seen) > count, "the honest receiver is not told", 10)
    return time.monotonic() - began


def bad_receivers():
    """Adds receivers that hang, answer without end, with garbage, and with redirects to this machine; and others whose hosts are inside the
    operator's network, written in all ways, and by names that lead there: none is reached, and an honest one hears of everything at once."""
    pit, honest = Listener(hostile.well, "0.0.0.0"), Listener(hostile.well)
    places = {name: Listener(answer) for name, answer in {**DEAF, **BAD}.items()}
    for status in (301, 302, 303, 307, 308):
        places[f"redirect-{status}"] = Listener(hostile.redirect(f"http://127.0.0.1:{pit.port}/", status))
    server = Server(*FREE, administered=True)
    client, before, refused, waiting, reachable = Client(server), server.resident(), 0, {}, 0
    urls = [f"https://{host}:{pit.port}/" for host in INSIDE] + [
        f"http://example.org:{pit.port}/", "https:///x", "https://", "ftp://example.org/", "file:///etc/passwd", "https://example.org/#x",
        "https://exa mple.org/", "//example.org/", "", "https://" + "a" * 2000 + "/"]
    # Without leave for private addresses, with TLS and without.
    for number, url in enumerate(urls):
        answer = add(server, f"inside-{number}", url, private=False)
        require(answer.status in (201, 400), f"{url}: {answer}")
        refused += answer.status == 400
        if answer.status == 201:
            waiting[f"inside-{number}"] = url
        # A server has 32 at most.
        if len(waiting) == 30 or number == len(urls) - 1:
            for name in waiting:
                test(server, name)
            states = tried(server, *waiting)
            for name, url in waiting.items():
                failure = states[name]["last_failure"]
                require(any(words in failure for words in ("not public", "no address", "not allowed")), f"{url}: {failure}")
                server.administer("DELETE", "/webhooks/" + name)
            reachable, waiting = reachable + len(waiting), {}
    require(not pit.seen, f"a private address was reached: {[each.headers['host'] for each in pit.seen]}")
    add_all(server, {name: place.url for name, place in {**places, "honest": honest}.items()})
    holder, times, slowest = Holder(client, client.guest()), [], 0
    for _ in range(3):
        times.append(heard(client, honest))
        began = time.monotonic()
        require(holder.refresh().status == 200, "a refresh fails")
        slowest = max(slowest, time.monotonic() - began)
    failing = [name for name in places if name not in DEAF]
    states = tried(server, *failing)
    for name in failing:
        state = states[name]
        require(state["backlog"] and not state.get("last_success_at"), f"{name}: {state}")
        require(all(32 <= ord(sign) < 127 for sign in state["last_failure"]), f"{name}: a terminal is told {state['last_failure']!r}")
    require(not pit.seen, f"a redirect was followed: {[each.path for each in pit.seen]}")
    until(lambda: places["endless"].seen, "the endless receiver is not asked", 10)
    time.sleep(0.5)
    require(places["endless"].server.sent < 32 << 20, f"{places['endless'].server.sent >> 20} MiB of an answer were taken")
    require(server.resident() - before < 96 << 10, f"{server.resident() - before >> 10} MiB of memory were taken")
    require(max(times) < 6 and slowest < 2, f"the honest receiver waited {max(times):.1f} s, and a refresh {slowest:.1f} s")
    return f"{refused} addresses refused and {reachable} not reached, {len(places)} bad receivers; an honest one hears within {max(times):.1f} s"


def rebound_names():
    """Names receivers whose names lead to this machine: at once, beside a public address, and after they were added. The server has a file of
    hosts of its own."""
    pit = Listener(hostile.well, "0.0.0.0")
    server = Hosts({"inside": ["127.0.0.1"], "mixed": ["11.0.0.1", "127.0.0.1"], "turned": ["127.0.0.1", "11.0.0.1"], "six": ["::1"],
                    "mapped": ["::ffff:127.0.0.1"], "meta": ["169.254.169.254"], "late": []})
    add_all(server, {name: f"https://{name}.example.org:{pit.port}/" for name in server.names}, private=False)
    Client(server).guest()
    states = tried(server, *server.names)
    for name in server.names:
        require(("no address" if name == "late" else "not public") in states[name]["last_failure"], f"{name}: {states[name]['last_failure']}")
    server.names["late"] = ["127.0.0.1"]
    server.write()
    test(server, "late")
    until(lambda: "not public" in listed(server)["late"]["last_failure"], lambda: f"later: {listed(server)['late']}", 20)
    require(not pit.seen, f"this machine was reached as {[each.headers['host'] for each in pit.seen]}")
    # The control: with leave, the name leads there.
    add_all(server, {"own": f"http://inside.example.org:{pit.port}/"})
    test(server, "own")
    until(lambda: pit.seen, lambda: f"the control is not reached: {listed(server)['own']}", 20)
    return f"{len(server.names)} names, none reached; with --allow-private one is"


class Hosts(Server):
    """A server with names of its own below example.org, in a mount namespace."""

    def __init__(self, names):
        self.names = names
        super().__init__(*FREE, administered=True)

    def write(self):
        # In place: the file is mounted.
        lines = [f"{address} {name}.example.org\n" for name, addresses in self.names.items() for address in addresses]
        pathlib.Path(self.folder, "hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))

    def launch(self, *flags, **more):
        self.write()
        # Where no server is: names that are not in the file are unknown at once.
        pathlib.Path(self.folder, "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        maps = [] if os.getuid() == 0 else ["--map-root-user"]
        enter = 'mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/resolv.conf" /etc/resolv.conf && exec "$@"'
        super().launch(*flags, **{**more, "wrapper": ["unshare", "--mount", *maps, "sh", "-c", enter, self.folder]})


def deaf_receivers():
    """Waits until receivers that hang and that never end are given up, with many accounts' events for each, and others are told all the while."""
    server = Server(*FREE, administered=True)
    places, honest, client = {name: Listener(answer) for name, answer in DEAF.items()}, Listener(hostile.well), Client(server)
    add_all(server, {name: place.url for name, place in {**places, "honest": honest}.items()})
    for _ in range(40):
        client.guest()
    until(lambda: len(honest.seen) >= 40, lambda: f"the honest receiver is told of {len(honest.seen)} of 40", 20)
    began, files = time.monotonic(), server.files()
    states = tried(server, *places)
    for name in places:
        require(states[name]["held_accounts"] <= 16 and states[name]["backlog"], f"{name}: {states[name]}")
    heard(client, honest)
    require(server.files() < files + 80, f"{server.files() - files} more files are open")
    require(server.runs(), "the server ended")
    return f"given up within {time.monotonic() - began:.0f} s, and an honest receiver hears"


ATTACKS = [bad_receivers]
# Needs a mount namespace.
LONG = [rebound_names]
SLOW = [deaf_receivers]
