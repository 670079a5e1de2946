"""Counts the instructions of a request with callgrind.

Runs handstamp serve (on SQLite, with standard limits, metrics and logs) under valgrind, sends it requests one after the other, and compares what one of
each kind costs with instructions.json beside this file, by build and processor. Fails if one costs over 5 % more. The mathematics of BoringSSL is left
out: it depends on the random numbers. Instruction counts hardly depend on the machine or its load, times do."""
import glob, hashlib, http.server, json, os, platform, re, shutil, subprocess, sys, threading

from kit import build, server
from kit.web import Client, bearer, require, until

NEEDS = ["--tests"]
COUNTS = os.path.dirname(os.path.abspath(__file__)) + "/instructions.json"
# Of each kind, before and while it is counted; together less than the limit of a session's refreshes.
WARM, COUNT = 20, 35
LEFT_OUT = re.compile(r"CCryptoBoringSSL|ecp_nistz256|bn_mul_mont|bn_sqr|sha(256|512)_block")
SECRET = "load-secret-that-is-long-enough"
# Valgrind writes to the mask of `sigsuspend`, and dies where that is read-only: in the main thread of libdispatch.
MASK = """#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int sigsuspend(const sigset_t *mask) { sigset_t copy = *mask; return syscall(SYS_rt_sigsuspend, &copy, 8); }
"""


def options(parser):
    parser.add_argument("--release", action="store_true", help="of a release build")
    parser.add_argument("--update", action="store_true", help="write the counts instead of comparing them")
    parser.add_argument("--webhooks", action="store_true", help="compare a refresh and an end with one webhook with those without any instead")


def own_instructions(name):
    """The sum of all functions' own instructions in callgrind's output, without those that are left out."""
    names, total, is_counted, is_call = {}, 0, False, False
    for line in open(name):
        if line.startswith("fn="):
            number, _, text = line[3:].strip().partition(" ")
            if text:
                names[number] = text
            is_counted = not LEFT_OUT.search(names.get(number, ""))
        elif line.startswith(("cfn=", "cfi=", "cob=")):
            number, _, text = line[4:].strip().partition(" ")
            if text and line.startswith("cfn="):
                names[number] = text
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit() or line[:1] in "+-*":
            # After `calls=` comes the cost of what was called, which is counted there.
            if is_counted and not is_call:
                total += int(line.split()[1])
            is_call = False
    return total


class Counter:
    def __init__(self, program, prepare=None):
        self.server = server.Server()
        folder = self.server.folder
        # Valgrind of Debian 12 gives up at the debug information of today's compilers.
        subprocess.run(["objcopy", "--strip-debug", program, folder + "/handstamp"], check=True)
        server.PROGRAM = folder + "/handstamp"
        with open(folder + "/clients.json", "w") as file:
            json.dump([dict(id="load", flows=[], redirectURIs=[], introspects=True, secretSHA256=hashlib.sha256(SECRET.encode()).hexdigest())], file)
        with open(folder + "/mask.c", "w") as file:
            file.write(MASK)
        subprocess.run([shutil.which("clang") or "cc", "-shared", "-fPIC", "-o", folder + "/mask.so", folder + "/mask.c"], check=True)
        if prepare:
            self.server.launch("--rate-limits", "none")
            prepare(self.server)
            self.server.end()
        # Published every second, however long a request takes: too unsteady for a bound of 1 %.
        metrics = [] if prepare else ["--metrics-address", "127.0.0.1:0"]
        self.server.launch(
            "--issuer", "http://127.0.0.1", *metrics, "--access-token-life", "1h", "--clients", folder + "/clients.json",
            wrapper=["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "-q"], env=os.environ | dict(LD_PRELOAD=folder + "/mask.so"))
        self.client = Client(self.server, timeout=120)
        self.tokens = self.client.guest()

    def since_last(self):
        """The instructions since the last call."""
        pattern = self.server.folder + "/out.*"
        before = set(glob.glob(pattern))
        subprocess.run(["callgrind_control", "-d", str(self.server.process.pid)], check=True, capture_output=True)
        new = until(lambda: [name for name in set(glob.glob(pattern)) - before if "\ntotals:" in open(name).read()], "callgrind wrote nothing", 60)
        total = sum(own_instructions(name) for name in new)
        for name in new:
            os.remove(name)
        return total

    def refresh(self):
        answer = self.client.refresh(self.tokens["refresh_token"])
        self.tokens = answer.json
        return answer

    def me(self):
        return self.client.get("/v1/me", Authorization=bearer(self.tokens))

    def introspect(self):
        return self.client.form("/oauth/introspect", dict(client_id="load", client_secret=SECRET, token=self.tokens["access_token"]))

    def end(self):
        return self.client.form("/oauth/revoke", dict(token=self.ending.pop()))

    def count(self, name):
        for number in range(WARM + COUNT):
            if number == WARM:
                self.since_last()
            answer = getattr(self, name)()
            require(answer.status == 200, f"{name}: {answer}")
        return self.since_last() // COUNT


def webhooks(program):
    """An end is sent to the webhook, a refresh is not: it may cost 1 % more, an end 20 %. Both are bounds of the request itself."""
    ending, received, is_gone = [], [], threading.Event()

    def prepare(server):
        """Hashing a password takes too long under valgrind. A guest's account would end with its session."""
        client = Client(server)
        for account in range(4):
            address = f"user{account}@example.org"
            client.sign_up(address, "a long secret of a user")
            for number in range((WARM + COUNT) // 2 + 2):
                ending.append(client.sign_in(address, "a long secret of a user", f"d-{number}").json["refresh_token"])

    class Receiver(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            received.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(410 if is_gone.is_set() else 204)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *words):
            pass

    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    counter = Counter(program, prepare)
    counter.ending = ending
    # The first half a minute of a server has work of its own.
    before = {name: counter.count(name) for name in ("me", "introspect", "end", "refresh")}
    counter.tokens = counter.client.guest()
    counter.server.admin("webhooks", "add", "crm", f"http://127.0.0.1:{receiver.server_port}/", "--event", "session.ended", "--allow-private")
    after = {"refresh": counter.count("refresh")}
    # A receiver that is gone is sent no more events.
    is_gone.set()
    counter.end()
    until(lambda: received, "an event is missing", 120)
    until(lambda: counter.server.admin("webhooks", "list")["webhooks"][0]["state"] == "gone", "the webhook goes on", 120, pause=1)
    after["end"] = counter.count("end")
    is_gone.clear()
    done = server.command("admin", "webhooks", "replay", "crm", "--data", counter.server.folder + "/data")
    require(done.returncode == 0, done.stderr)
    until(lambda: len(received) > WARM + COUNT, "an event is missing", 240)
    delivery = counter.since_last() // (WARM + COUNT + 1)
    wrong = 0
    for name, bound in (("refresh", 1.01), ("end", 1.2)):
        cost = after[name] / before[name]
        print(f"{name:12}{before[name]:12,} instructions, with a webhook {after[name]:12,}  {(cost - 1) * 100:+.1f} %")
        wrong += cost > bound
    print(f"{'delivery':12}{delivery:12,} instructions an event, later and apart from the request")
    if wrong:
        sys.exit("instructions: a webhook costs more than 1 % of a refresh, or 20 % of an end")
    return 0


def main(options):
    if not shutil.which("callgrind_control"):
        sys.exit("instructions: valgrind is missing\nhint: apt-get install valgrind")
    program = build.program(release=options.release)
    kind = f"{'release' if options.release else 'debug'} {platform.machine()}"
    try:
        if options.webhooks:
            return webhooks(program)
        counter = Counter(program)
        counts = {name: counter.count(name) for name in ("refresh", "me", "introspect")}
    finally:
        server.remove_all()
    with open(COUNTS) as file:
        known = json.load(file)
    wrong = 0
    for name, count in counts.items():
        before = known.get(kind, {}).get(name)
        change = f"{(count / before - 1) * 100:+.1f} %" if before else "new"
        print(f"{name:12}{count:12,} instructions  {change}")
        wrong += before is not None and count > before * 1.05
    if options.update:
        with open(COUNTS, "w") as file:
            file.write(json.dumps(known | {kind: counts}, indent=2, sort_keys=True) + "\n")
    elif wrong:
        sys.exit("instructions: a request costs over 5 % more than before\nhint: find out why, or accept it: scripts/dev instructions --update")
    return 0
