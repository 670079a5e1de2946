"""Floods: how much of one is let through, and how honest clients fare meanwhile."""
import collections, concurrent.futures, http.client, math, multiprocessing, os, secrets, time

from attacks.target import OWNER, PASSWORD, Client, Holder, Lost, Server, base64url, install, require

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

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(repeat, range(4)))
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
    allowed, total, passed = math.ceil((most[0] + most[1] * flood.seconds) * 1.02) + 1, counts.total(), counts["passed"]
    require(total > 20, f"only {total} requests were made: {dict(counts)}")
    words = f"{passed} of {total} {what} in {flood.seconds:.0f} s (limit {allowed:.0f})"
    require(passed <= allowed, words)
    return f"{words}; {figure}"


def passed(answer, status):
    return "passed" if answer.status == status else answer.status


def guests():
    """Fills the store with guests, from one address: each is an account, a session and a hash. A person signs in meanwhile."""
    server = Server("--sign-up", "open")
    honest, owner = Honest(server), Client(server, "127.0.8.1")
    owner.sign_up(OWNER, PASSWORD)
    clients = [Client(server, "127.0.7.1") for _ in range(4)]

    def once(thread, number):
        return passed(clients[thread].post("/v1/sign-in/anonymous", dict(device=install("d-flood"))), 201)

    flood, start = Flood(once), time.monotonic()
    answer = owner.sign_in(OWNER, PASSWORD, "d-owner")
    took = (time.monotonic() - start) * 1000
    require(answer.status == 200, f"a sign-in: {answer}")
    return f"{bounded(flood, 'guests', (20, 1 / 30), honest)}; a sign-in took {took:.0f} ms"


def devices():
    """Begins device authorizations, from many addresses: each is a row, and a code that a guess may hit."""
    server = Server("--sign-up", "open")
    honest, crowd = Honest(server), Crowd(server, 20)

    def once(thread, number):
        return passed(crowd(thread, number).form("/oauth/device_authorization", dict(client_id="cli", scope="profile")), 200)

    return bounded(Flood(once), "device authorizations", (200, 20), honest)


def mails():
    """Has mails sent to one person, from many addresses, in every spelling of the address."""
    server = Server("--sign-up", "open")
    honest, crowd = Honest(server), Crowd(server, 3)
    Client(server, "127.0.8.1").sign_up(OWNER, PASSWORD)
    spellings = [OWNER, OWNER.title(), OWNER.upper(), " " + OWNER, OWNER + " "]

    def once(thread, number):
        return passed(crowd(thread, number).post("/v1/password-reset", dict(email=spellings[number % len(spellings)])), 202)

    flood = Flood(once)
    figure, counts = honest.figure(flood), flood.counts()
    count = len([mail for mail in server.mailed(1) if OWNER in mail.lower()])
    require(count == 1, f"{count} mails to one person in {flood.seconds:.0f} s")
    return f"{count} mail for {counts.total()} requests, {counts['passed']} of them accepted; {figure}"


def codes():
    """Guesses mailed codes, from one address and from many. The owner redeems the right one meanwhile."""
    server = Server("--sign-up", "open")
    honest, crowd = Honest(server), Crowd(server, 30)
    owner, stranger = Client(server, "127.0.8.1"), [Client(server, "127.0.7.1") for _ in range(4)]
    owner.sign_up(OWNER, PASSWORD)
    owner.post("/v1/password-reset", dict(email=OWNER))
    code = server.code(OWNER)

    def guess(client):
        token = "hsl1." + base64url(secrets.token_bytes(32))
        return client.post("/v1/password-reset/confirm", dict(token=token, new_password="the attacker's own"))

    def once(thread, number):
        guess(crowd(thread, number))
        return passed(guess(stranger[thread]), 400)

    flood = Flood(once)
    reset = owner.post("/v1/password-reset/confirm", dict(token=code, new_password="another long secret"))
    figure = bounded(flood, "codes from one address", (30, 1 / 10), honest)
    require(reset.status == 204, f"the owner's code: {reset}")
    require(owner.sign_in(OWNER, "another long secret", "d-owner").status == 200, "the password was reset")
    return figure + "; the owner's code worked; a code has 256 bits"


ATTACKS = [guests, devices, mails, codes]
