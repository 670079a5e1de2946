"""Floods: how much of one is let through, and how honest clients fare meanwhile."""
import collections, http.client, math, multiprocessing, os, re, secrets, threading, time

from kit.p256 import Key
from attacks.target import Client, Holder, Lost, Server, base64url, install, require

SECONDS = 2.5
# Requests a second of each of the four threads of a flood: what is measured is the server, not how busy this machine is.
RATE = 100


class Honest:
    """Clients that have sessions and refresh them, before a flood and in it."""

    def __init__(self, server):
        self.server = server
        self.holders = [Holder(client, client.guest()) for client in (Client(server, f"127.0.9.{n + 1}") for n in range(6))]
        self.before = self.p99(0.7)

    def p99(self, seconds):
        """The 99th percentile of the time of a refresh, in milliseconds. Each session stays far within its limit."""
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end or len(times) < 60:
            holder, start = self.holders[len(times) % len(self.holders)], time.monotonic()
            answer = holder.refresh()
            times.append(time.monotonic() - start)
            require(answer.status == 200, f"an honest refresh was answered {answer.status} {answer.text}")
            if len(times) == 300:
                break
            time.sleep(0.01)
        return sorted(times)[int(len(times) * 0.99)] * 1000

    def figure(self, flood):
        """Compares refreshes in a flood with those before it; if they are much slower, also with those while it pauses, because a
        machine may have got busy with something else."""
        before, during = self.before, self.p99(SECONDS - 0.5)
        if during > 10 * before:
            flood.pause.set()
            before = max(before, self.p99(SECONDS - 0.5))
            flood.pause.clear()
        words = f"p99 of refreshes {before:.0f} -> {during:.0f} ms (x{during / before:.1f})"
        require(during <= 10 * before, words)
        return words


class Flood:
    """Runs `once(thread, number)` in a process with four threads, and counts what it returns."""

    def __init__(self, once, seconds=SECONDS):
        fork = multiprocessing.get_context("fork")
        self.least, self.end, self.pause, (self.receiver, sender) = seconds, fork.Event(), fork.Event(), fork.Pipe(False)
        self.process, self.began = fork.Process(target=self.work, args=(once, sender), daemon=True), time.monotonic()
        self.process.start()

    def work(self, once, sender):
        # Attackers use computers of their own.
        os.nice(19)
        counts, last = collections.Counter(), time.monotonic() + 60

        def repeat(thread):
            number, start = 0, time.monotonic()
            while not self.end.is_set() and time.monotonic() < last:
                while self.pause.is_set():
                    time.sleep(0.05)
                    start += 0.05
                try:
                    counts[once(thread, number)] += 1
                except (OSError, http.client.HTTPException, Lost) as error:
                    counts[type(error).__name__] += 1
                number += 1
                time.sleep(max(0, start + number / RATE - time.monotonic()))

        threads = [threading.Thread(target=repeat, args=(thread,), daemon=True) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sender.send(counts)
        os._exit(0)

    def counts(self):
        """Ends the flood, and returns what it returned how often."""
        time.sleep(max(0, self.began + self.least - time.monotonic()))
        self.end.set()
        self.seconds = time.monotonic() - self.began
        require(self.receiver.poll(30), "the flood does not end")
        counts = self.receiver.recv()
        self.process.join(10)
        return counts


class Crowd:
    """Clients of one flood, at so many addresses that no limit by address matters."""

    def __init__(self, server, each):
        self.server, self.each, self.clients = server, each, {}

    def __call__(self, thread, number):
        if number % self.each == 0:
            if thread in self.clients:
                self.clients[thread].close()
            self.clients[thread] = Client(self.server, f"127.{20 + thread}.{number // self.each // 250}.{number // self.each % 250 + 1}")
        return self.clients[thread]


def bounded(flood, what, most, honest):
    """Compares how much of a flood was let through with a limit of so many at once, and so many a second."""
    figure, counts = honest.figure(flood), flood.counts()
    allowed, total = math.ceil((most[0] + most[1] * flood.seconds) * 1.02) + 1, counts.total()
    passed = counts["passed"]
    require(total > 20, f"only {total} requests were made: {dict(counts)}")
    require(passed <= allowed, f"{passed} of {total} {what} in {flood.seconds:.0f} s, limit {allowed:.0f}")
    return f"{passed} of {total} {what} in {flood.seconds:.0f} s (limit {allowed:.0f}); {figure}"


def guests():
    """Fills the store with guests, from one address: each is an account, a session and a hash. A person signs in meanwhile."""
    server = Server("--sign-up", "open")
    honest, owner = Honest(server), Client(server, "127.0.8.1")
    owner.sign_up("owner@example.org", "a long enough secret")
    clients = [Client(server, "127.0.7.1") for _ in range(4)]

    def once(thread, number):
        answer = clients[thread].post("/v1/sign-in/anonymous", dict(device=install("d-flood")))
        return "passed" if answer.status == 201 else answer.status

    flood, start = Flood(once), time.monotonic()
    signed_in = owner.sign_in("owner@example.org", "a long enough secret", "d-owner").status
    took = (time.monotonic() - start) * 1000
    require(signed_in == 200, f"a sign-in was answered {signed_in}")
    return f"{bounded(flood, 'guests', (20, 1 / 30), honest)}; a sign-in took {took:.0f} ms"


def devices():
    """Begins device authorizations, from many addresses: each is a row, and a code that a guess may hit."""
    server = Server("--sign-up", "open")
    honest, crowd = Honest(server), Crowd(server, 20)

    def once(thread, number):
        answer = crowd(thread, number).form("/oauth/device_authorization", dict(client_id="cli", scope="profile"))
        return "passed" if answer.status == 200 else answer.status

    return bounded(Flood(once), "device authorizations", (200, 20), honest)


def mails():
    """Has mails sent to one person, from many addresses, in every spelling of the address."""
    server = Server("--sign-up", "open")
    honest, crowd = Honest(server), Crowd(server, 3)
    Client(server, "127.0.8.1").sign_up("victim@example.org", "a long enough secret")
    spellings = ["victim@example.org", "Victim@Example.ORG", "VICTIM@EXAMPLE.ORG", " victim@example.org", "victim@example.org "]

    def once(thread, number):
        answer = crowd(thread, number).post("/v1/password-reset", dict(email=spellings[number % len(spellings)]))
        return "passed" if answer.status == 202 else answer.status

    flood = Flood(once)
    figure, counts = honest.figure(flood), flood.counts()
    count = len([mail for mail in server.mailed(1) if "victim@example.org" in mail.lower()])
    require(count == 1, f"{count} mails to one person in {flood.seconds:.0f} s")
    return f"{count} mail for {counts.total()} requests, {counts['passed']} of them accepted; {figure}"


def codes():
    """Guesses mailed codes, from one address and from many. The owner redeems the right one meanwhile."""
    server = Server("--sign-up", "open")
    honest, crowd = Honest(server), Crowd(server, 30)
    owner, stranger = Client(server, "127.0.8.1"), [Client(server, "127.0.7.1") for _ in range(4)]
    owner.sign_up("victim@example.org", "a long enough secret")
    owner.post("/v1/password-reset", dict(email="victim@example.org"))
    code = re.search(r"hsl1\.[\w-]+", server.mailed(1)[0].replace("=\n", "")).group(0)

    def guess(client):
        token = "hsl1." + base64url(secrets.token_bytes(32))
        return client.post("/v1/password-reset/confirm", dict(token=token, new_password="the attacker's own")).status

    def once(thread, number):
        guess(crowd(thread, number))
        return "passed" if guess(stranger[thread]) == 400 else "limited"

    flood = Flood(once)
    reset = owner.post("/v1/password-reset/confirm", dict(token=code, new_password="another long secret"))
    figure = bounded(flood, "codes from one address", (30, 1 / 10), honest)
    require(reset.status == 204, f"the owner's code was answered {reset.status}")
    require(owner.sign_in("victim@example.org", "another long secret", "d-owner").status == 200, "the password was reset")
    return figure + "; the owner's code worked; a code has 256 bits"


def proofs():
    """Makes proofs of possession with throw-away keys: an honest client with a key must not be locked out, nor its proof work twice."""
    server = Server("--sign-up", "open")
    honest, crowd, client = Honest(server), Crowd(server, 1000), Client(server, "127.0.8.1")
    address, key = client.get("/.well-known/oauth-authorization-server").json["issuer"], Key()
    path = "/v1/sign-in/anonymous"
    nonce = client.post(path, dict(device=install("d-1")), DPoP=key.proof("POST", address + path, ""))["DPoP-Nonce"]
    session = client.guest(DPoP=key.proof("POST", address + path, nonce))
    require(session["token_type"] == "DPoP", "the session is not bound to the key")

    def me(proof):
        return client.get("/v1/me", Authorization="DPoP " + session["access_token"], DPoP=proof).status

    old = key.proof("GET", address + "/v1/me", nonce, session["access_token"])
    require(me(old) == 200, "an honest proof was refused")

    def once(thread, number):
        proof = Key().proof("POST", address + "/oauth/token", nonce)
        client = crowd(thread, number)
        fields = dict(grant_type="refresh_token", refresh_token="hst1.k1." + base64url(secrets.token_bytes(41)),
                      rotation_key=base64url(secrets.token_bytes(16)))
        answer = client.form("/oauth/token", fields, DPoP=proof)
        return "refused" if answer.status == 400 and answer.error == "invalid_grant" else f"{answer.status} {answer.error}"

    flood = Flood(once)
    figure, accepted, tried = honest.figure(flood), 0, 0
    counts = flood.counts()
    for _ in range(50):
        tried, accepted = tried + 1, accepted + (me(key.proof("GET", address + "/v1/me", nonce, session["access_token"])) == 200)
    require(accepted == tried, f"{tried - accepted} of {tried} honest proofs were refused")
    require(me(old) == 401, "a proof worked twice")
    fields = dict(grant_type="refresh_token", refresh_token=session["refresh_token"], rotation_key=base64url(secrets.token_bytes(16)))
    stolen = client.form("/oauth/token", fields, DPoP=Key().proof("POST", address + "/oauth/token", nonce))
    require(stolen.status == 400, "a bound session was refreshed with another key")
    answer = client.form("/oauth/token", fields, DPoP=key.proof("POST", address + "/oauth/token", nonce))
    require(answer.status == 200, f"the honest client cannot refresh: {answer.text}")
    require(counts["refused"] > 100, f"the proofs were not valid: {dict(counts)}")
    return f"{accepted} of {tried} honest proofs accepted after {counts.total()} throw-away ones; {figure}"


def garbage():
    """Sends deeply nested bodies, and forms of 300 fields, to the routes that parse most."""
    server = Server("--sign-up", "open")
    honest, crowd = Honest(server), Crowd(server, 1000)
    nested = '{"email":' * 6000 + "1" + "}" * 6000
    fields = "&".join(f"f{number}=1" for number in range(300))
    base = server.resident()

    def once(thread, number):
        client = crowd(thread, number)
        if number % 2:
            return client.request("POST", "/oauth/token", fields, {"Content-Type": "application/x-www-form-urlencoded"}).status
        return client.request("POST", "/v1/sign-in", nested, {"Content-Type": "application/json"}).status

    flood = Flood(once)
    figure, counts = honest.figure(flood), flood.counts()
    require(set(counts) == {400}, f"answers: {dict(counts)}")
    grown = (server.resident() - base) / 1024
    require(grown < 200, f"{grown:.0f} MB more memory")
    return f"{counts.total()} bodies refused, {grown:+.0f} MB; {figure}"


def connections():
    """Opens connections of a server that may have 256 files, with half a request each, while 600 others stay open."""
    server = Server("--sign-up", "open", descriptors=256)
    honest = Honest(server)
    half = b"GET /health HTTP/1.1\r\nHost: a\r\nX-Half:"
    held = []
    for number in range(600):
        connection = server.connect(f"127.0.{40 + number // 250}.{number % 250 + 1}")
        connection.sendall(half)
        held.append(connection)

    def once(thread, number):
        with server.connect(f"127.{30 + thread}.{number // 250 % 250}.{number % 250 + 1}", 5) as connection:
            connection.sendall(half)
        return "passed"

    flood = Flood(once)
    figure, start = honest.figure(flood), time.monotonic()
    answer = Client(server, "127.0.8.1", timeout=5).get("/health")
    took, counts = (time.monotonic() - start) * 1000, flood.counts()
    for connection in held:
        connection.close()
    require(answer.status == 200, f"an honest request was answered {answer.status}")
    return f"an honest request took {took:.0f} ms beside 600 connections and {counts['passed']} more; {figure}"


ATTACKS = [guests, devices, mails, codes, proofs, garbage, connections]
