"""Runs the same checks as CI, and shows the time of each.

Steps that mostly wait for programs run beside each other; their output is shown when they end. With names, only these."""
import collections, concurrent.futures, os, subprocess, sys, threading, time

NEEDS = ["--tests"]
# One after another: each of these needs the machine for itself.
FIRST = ["lint", "plain --short", "test --slowest 10", "run"]
# Three at a time, the longest first; those of a row, one after another. What measures time is not among them.
BESIDE = [["apple --short", "docs", "api"], *([step] for step in (
    "pages", "instructions", "attack --short", "mcp --short", "forum --tour", "openid", "webhooks", "schemathesis --short", "passkeys", "agent",
    "container", "manual --check"))]
# The last ones replace the modules of this package by their own.
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
        return [sys.executable, "scripts/dev", *given, verb, *more]

    def again(self, step):
        """What repeats one step, in a shell."""
        given = "--program .build/debug/handstamp " if "--program" in self.command(step) else ""
        return f"scripts/dev {given}{step}"

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
            self.times[verb] = time.monotonic() - began
            if done.returncode and not self.failed:
                self.failed, self.last = step, "" if is_alone else "\n".join(done.stdout.splitlines()[-20:])

    def run_beside(self, rows):
        with concurrent.futures.ThreadPoolExecutor(max_workers=3) as workers:
            list(workers.map(lambda row: [self.run(step, False) for step in row], rows))


def main(options):
    began, steps = time.monotonic(), Steps(options.names)
    for step in FIRST:
        steps.run(step)
    # These and the next are given the programs that were built with the tests.
    steps.run_beside(BESIDE)
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
        print(f"hint: to repeat it: {steps.again(steps.failed)}")
    return 1 if steps.failed else 0
