"""Counts the instructions of a request, and of `handstamp token`, with callgrind.

Runs handstamp-server serve (on SQLite, with standard limits, metrics and logs) under valgrind, sends it requests one after the other, and compares what one of
each kind costs with instructions.json beside this file, by build and processor. Fails if one costs over 5 % more. The mathematics of BoringSSL is left
out: it depends on the random numbers. Instruction counts hardly depend on the machine or its load, times do."""
import glob, json, os, platform, re, shutil, subprocess, sys

from kit import build, load, server
from kit.web import Client, bearer, require, until
from parties.hostile import Listener

NEEDS = ["--tests"]
COUNTS = os.path.dirname(os.path.abspath(__file__)) + "/instructions.json"
# Of each kind, before and while it is counted; together less than the limit of a session's refreshes.
WARM, COUNT = 20, 35
LEFT_OUT = re.compile(r"CCryptoBoringSSL|ecp_nistz256|bn_mul_mont|bn_sqr|sha(256|512)_block")
# Valgrind writes to the mask of `sigsuspend`, and dies where that is read-only: in the main thread of libdispatch.
MASK = "int sigsuspend(const sigset_t *mask) { sigset_t copy = *mask; return syscall(SYS_rt_sigsuspend, &copy, 8); }"


def options(parser):
    parser.add_argument("--release", action="store_true", help="of a release build")
    parser.add_argument("--update", action="store_true", help="write the counts instead of comparing them")
    parser.add_argument("--webhooks", action="store_true", help="compare a refresh and an end with one webhook with those without any instead")


def own_instructions(name):
    """The sum of all functions' own instructions in callgrind's output, without those that are left out."""
    total, is_counted = 0, False
    with open(name) as file:
        for line in file:
            if line.startswith("fn="):
                is_counted = not LEFT_OUT.search(line)
            elif line.startswith("calls="):
                # The next line has the cost of what was called, which is counted there.
                next(file)
            elif line[:1].isdigit() and is_counted:
                total += int(line.split()[1])
    return total


def counted(program, folder):
    """What runs a program, copied into a folder, with its counts beside it."""
    # Valgrind of Debian 12 gives up at the debug information of today's compilers.
    subprocess.run(["objcopy", "--strip-debug", program, f"{folder}/{os.path.basename(program)}"], check=True)
    options = "-shared -fPIC -D_GNU_SOURCE -include signal.h -include sys/syscall.h -include unistd.h -x c -".split()
    subprocess.run([shutil.which("clang") or "cc", *options, "-o", folder + "/mask.so"], input=MASK, text=True, check=True)
    usual = {name: value for name, value in os.environ.items() if not name.startswith("HANDSTAMP_")}
    return dict(env=usual | dict(LD_PRELOAD=folder + "/mask.so", HANDSTAMP_HOME=folder + "/home")), [
        "valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--compress-strings=no", "--compress-pos=no", "-q"]


def token(program):
    """A whole `handstamp token` while the token is valid."""
    server.PROGRAM, place = program, server.Server()
    place.launch()
    more, wrapper = counted(program, place.folder)
    server.command("signup", "ada@example.org", "--server", place.url, text="correct horse battery\n", HANDSTAMP_HOME=place.folder + "/home")
    done = subprocess.run([*wrapper, place.folder + "/handstamp", "token"], capture_output=True, text=True, **more)
    require(done.returncode == 0, done.stderr)
    return own_instructions(place.folder + "/out")


class Counter:
    def __init__(self, program, prepare=None):
        self.server = server.Server()
        more, wrapper = counted(build.operators(program), self.server.folder)
        server.PROGRAM = self.server.folder + "/handstamp"
        if prepare:
            self.server.launch("--rate-limits", "none")
            prepare(Client(self.server))
            self.server.end()
        # Published every second, however long a request takes: too unsteady for a bound of 1 %.
        metrics = [] if prepare else ["--metrics-address", "127.0.0.1:0"]
        # The start, which is not counted, takes a fifth of the time so.
        load.launch(self.server, *metrics, wrapper=[*wrapper, "--instr-atstart=no"], **more)
        subprocess.run(["callgrind_control", "-i", "on", str(self.server.process.pid)], check=True, capture_output=True)
        self.client = Client(self.server, timeout=120)
        self.tokens, self.ending = self.client.guest(), []

    def since_last(self):
        """The instructions since the last call."""
        pattern = self.server.folder + "/out.*"
        before = set(glob.glob(pattern))
        subprocess.run(["callgrind_control", "-d", str(self.server.process.pid)], check=True, capture_output=True)
        new = until(lambda: [name for name in set(glob.glob(pattern)) - before if "\ntotals:" in open(name).read()], "callgrind wrote nothing", 60)
        return sum(map(own_instructions, new))

    def refresh(self):
        answer = self.client.refresh(self.tokens["refresh_token"])
        self.tokens = answer.json
        return answer

    def me(self):
        return self.client.get("/v1/me", Authorization=bearer(self.tokens))

    def introspect(self):
        return self.client.form("/oauth/introspect", dict(client_id=load.CLIENTS[0], client_secret=load.SECRET, token=self.tokens["access_token"]))

    def page(self):
        return self.client.get("/sign-in")

    def end(self):
        return self.client.form("/oauth/revoke", dict(token=self.ending.pop()))

    def count(self, *names):
        """What one request of each kind costs."""
        counts = {}
        for name in names:
            for number in range(WARM + COUNT):
                if number == WARM:
                    self.since_last()
                answer = getattr(self, name)()
                require(answer.status == 200, f"{name}: {answer}")
            counts[name] = self.since_last() // COUNT
        return counts


def webhooks(program):
    """An end is sent to the webhook, a refresh is not: it may cost 1 % more, an end 20 %. Both are bounds of the request itself."""
    ending = []

    def prepare(client):
        """Hashing a password takes too long under valgrind. A guest's account would end with its session."""
        for account in range(4):
            address = f"user{account}@example.org"
            client.sign_up(address, "a long secret of a user")
            ending.extend(client.sign_in(address, "a long secret of a user", f"d-{number}").json["refresh_token"] for number in range((WARM + COUNT) // 2 + 2))

    # One that is gone is sent no more events, which would cost as much as the requests.
    receiver, counter = Listener(lambda request: request.give(status=410)), Counter(program, prepare)
    counter.ending = ending
    # The first half a minute of a server has work of its own.
    before = counter.count("me", "introspect", "end", "refresh")
    counter.tokens = counter.client.guest()
    counter.server.admin("webhooks", "add", "crm", receiver.url + "/", "--event", "session.ended", "--allow-private")
    after = counter.count("refresh")
    counter.end()
    until(lambda: counter.server.admin("webhooks", "list")["webhooks"][0]["state"] == "gone", "the webhook goes on", 120, pause=1)
    return before, after | counter.count("end")


def main(options):
    shutil.which("callgrind_control") or sys.exit("instructions: valgrind is missing\nhint: apt-get install valgrind")
    program = build.program(release=options.release)
    kind = f"{'release' if options.release else 'debug'} {platform.machine()}"
    known = json.load(open(COUNTS))
    try:
        if options.webhooks:
            before, counts = webhooks(program)
        else:
            before, counts = known.get(kind, {}), dict(token=token(program)) | Counter(program).count("refresh", "me", "introspect", "page")
    finally:
        server.remove_all()
    most, wrong = dict(refresh=1.01, end=1.2) if options.webhooks else {}, 0
    for name, count in counts.items():
        change = f"{(count / before[name] - 1) * 100:+.1f} %" if name in before else "new"
        print(f"{name:12}{count:12,} instructions  {change}")
        wrong += count > before.get(name, count) * most.get(name, 1.05)
    if options.update and not options.webhooks:
        print(json.dumps(known | {kind: counts}, indent=2, sort_keys=True), file=open(COUNTS, "w"))
    elif wrong:
        sys.exit("instructions: a request costs over 5 % more than before, or with a webhook over 1 % more in a refresh or 20 % in an end\n"
                 "hint: find out why, or accept it: scripts/dev instructions --update")
