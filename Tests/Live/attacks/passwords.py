"""Attacks on passwords."""
import threading, time

from attacks.floods import Crowd, Flood, Honest
from attacks.target import Client, Server, require

measured = threading.Event()
OWNER, PASSWORD = "owner@example.org", "a long enough secret"


def guesses():
    """Tries passwords of one account for 20 s from many addresses. Then the right one must not help a stranger, while the owner gets
    in on a known device. Owners of other accounts share the limit over all clients where their device is new."""
    server, seconds = Server("--sign-up", "open"), 20
    owner, honest, crowd = Client(server, "127.0.8.1"), Honest(server), Crowd(server, 25)
    owner.sign_up(OWNER, PASSWORD, "d-owner")
    for number in range(5):
        owner.sign_up(f"other{number}@example.org", PASSWORD, "d-other")

    def once(thread, number):
        answer = crowd(thread, number).sign_in(OWNER, f"guess {thread} {number}", f"d-{thread}-{number}")
        return {401: "checked", 429: "refused"}.get(answer.status, answer.status)

    flood = Flood(once, seconds)
    try:
        figure = honest.figure(flood)
    finally:
        # The rest of the 20 s need no quiet.
        measured.set()
    stranger = Client(server, "127.0.7.1").sign_in(OWNER, PASSWORD, "d-stranger")
    start = time.monotonic()
    known = owner.sign_in(OWNER, PASSWORD, "d-owner")
    took = (time.monotonic() - start) * 1000
    others = [Client(server, f"127.0.7.{number + 2}").sign_in(f"other{number}@example.org", PASSWORD, "d-new") for number in range(5)]
    counts = flood.counts()
    later = Client(server, "127.0.7.9").sign_in(OWNER, PASSWORD, "d-stranger")
    checked = counts["checked"]
    require(200 not in (stranger.status, later.status), "a stranger with the right password got in during the attack")
    require(known.status == 200, f"the owner was locked out on a known device: {known.status} {known.text}")
    require(checked <= 12, f"{checked} of {counts.total()} passwords were checked")
    let_in = sum(answer.status == 200 for answer in others)
    return (f"{checked} of {counts.total()} passwords were checked in {flood.seconds:.0f} s ({checked * 60 / flood.seconds:.0f} a minute, "
            f"then 2); the owner got in in {took:.0f} ms, {let_in} of 5 others on new devices; {figure}")


def spray():
    """Tries one common password with each of many accounts, from one address."""
    server = Server("--sign-up", "open")
    client, start, statuses = Client(server, "127.0.6.1"), time.monotonic(), []
    # Until the limit holds, and for a while after.
    while time.monotonic() - start < (3 if 429 in statuses else 15):
        statuses.append(client.sign_in(f"person{len(statuses)}@example.org", "a common password", "d-spray").status)
    seconds, checked = time.monotonic() - start, statuses.count(401)
    require(checked <= 30 + seconds / 2 + 1, f"{checked} of {len(statuses)} in {seconds:.0f} s")
    require(set(statuses) == {401, 429}, f"answers: {set(statuses)}")
    return f"{checked} of {len(statuses)} were checked in {seconds:.0f} s (30, then 30 a minute)"


def forwarded():
    """Pretends to be many clients by `X-Forwarded-For` and `Forwarded`, directly and through a proxy that appends the address."""
    proxy, tried = ["--trusted-proxies", "127.0.5.1"], []
    # `*` in a header becomes another address every time.
    for flags, headers in (
        # The peer is no proxy.
        (["--trusted-proxies", "127.0.4.1"], {"X-Forwarded-For": "*", "Forwarded": "for=*", "X-Real-IP": "*", "Client-IP": "*", "True-Client-IP": "*"}),
        # What clients write before the proxy's own entry, or into the field that it does not write.
        (proxy, {"X-Forwarded-For": "*, *, unknown, _hidden, 127.0.5.1:1, 203.0.113.7", "Forwarded": "for=*"}),
        ([*proxy, "--proxy-header", "forwarded"], {"Forwarded": 'for="*, for=\\"";by="x, for=*", for=203.0.113.7', "X-Forwarded-For": "*"}),
    ):
        server, statuses = Server(*flags), []
        client = Client(server, "127.0.5.1")
        while 429 not in statuses:
            fields = {name: value.replace("*", f"198.51.100.{len(statuses) + 1}") for name, value in headers.items()}
            statuses.append(client.post("/v1/password-reset/confirm", dict(token="hsl1." + "A" * 43, password="x", new_password="x"), **fields).status)
            require(len(statuses) <= 32, f"{len(statuses)} requests passed with {flags} and {headers}")
        tried.append(len(statuses) - 1)
    seen = Client(server, "127.0.5.1").get("/v1/client-address", Forwarded="for=127.0.0.1, for=192.0.2.1").json
    require(seen["address"] == "192.0.2.1" and seen["source"] == "proxy", f"the proxy is not believed: {seen}")
    return f"refused after {', '.join(map(str, tried))} requests (limit 30)"


ATTACKS = [spray, forwarded]
