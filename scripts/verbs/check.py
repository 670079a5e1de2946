"""Runs the same checks as CI, and shows the time of each.

Steps that mostly wait for programs run beside each other; their output is shown when they end. With names, only these."""
import collections, concurrent.futures, os, subprocess, sys, threading, time

NEEDS = ["--tests"]
BUILD, TESTS = "test --build", "test --built --slowest 10"
# These compute, on what the others leave of the processor: from the beginning, and from the tests on.
SOONER, LATER = ["lint", "plain --short"], ["apple --short", "docs", "api"]
# Three at a time, the longest first. What measures time is not among them; instructions are counted when the heaviest have ended.
BESIDE = ["pages", "attack --short", "mcp --short", "forum --tour", "openid", "instructions", "schemathesis --short", "webhooks", "run", "passkeys", "agent",
          "container", "manual --check"]
# Each of these needs the machine for itself. The last ones replace the modules of this package by their own.
LAST = ["cluster --short", "examples", "outside --short"]
# These build with other traits, or decide by themselves what to build.
BUILDERS = ("lint", "plain", "test", "examples", "outside")


def options(parser):
    parser.add_argument("names", nargs="*")


class Steps:
    def __init__(self, names):
        self.names, self.times, self.failed, self.lock = names, collections.OrderedDict(), None, threading.Lock()
        # The end of what the failed step said, if another one has spoken since.
        self.last = ""
        self.program = os.path.abspath(".build/debug/handstamp")

    def command(self, step):
        verb, *more = step.split()
        given = ["--program", self.program] if "test" in self.times and verb not in BUILDERS else []
        return [*(["nice", "-n", "19"] if step in SOONER + LATER else []), sys.executable, "scripts/dev", *given, verb, *more]

    def run(self, step, is_alone=True):
        verb = step.split()[0]
        if self.failed or self.names and verb not in self.names:
            return
        if is_alone:
            print(f"\n== {verb}", flush=True)
        began = time.monotonic()
        done = subprocess.run(self.command(step), stdout=None if is_alone else subprocess.PIPE, stderr=None if is_alone else subprocess.STDOUT, text=True,
                              errors="replace")
        with self.lock:
            if not is_alone:
                print(f"\n== {verb}\n{done.stdout}", end="", flush=True)
            self.times[verb] = self.times.get(verb, 0) + time.monotonic() - began
            if done.returncode and not self.failed:
                self.failed, self.last = step, "" if is_alone else "\n".join(done.stdout.splitlines()[-20:])


def main(options):
    began, steps = time.monotonic(), Steps(options.names)
    beside = lambda workers, names: workers.map(lambda step: steps.run(step, False), names)
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as lowest, concurrent.futures.ThreadPoolExecutor(max_workers=3) as workers:
        waiting = [beside(lowest, SOONER)]
        steps.run(BUILD)
        # These and the next are given the programs that were built with the tests.
        waiting.append(beside(lowest, LATER))
        steps.run(TESTS)
        # An error of this program is raised here.
        for ended in [beside(workers, BESIDE), *waiting]:
            list(ended)
    for step in LAST:
        steps.run(step)
    print("\nstep          minutes")
    for verb, seconds in steps.times.items():
        print(f"{verb:12} {seconds / 60:8.1f}")
    print(f"{'all until ' + steps.failed.split()[0] + ' failed' if steps.failed else 'all':12} {(time.monotonic() - began) / 60:8.1f}")
    # The last lines are what is kept of a run elsewhere.
    if steps.last:
        print(f"\n== the end of {steps.failed}\n{steps.last}")
    if steps.failed:
        given = "--program .build/debug/handstamp " if "--program" in steps.command(steps.failed) else ""
        print(f"hint: to repeat it: scripts/dev {given}{steps.failed}")
    return 1 if steps.failed else 0
