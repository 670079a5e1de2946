"""Runs the cases of a proof one after the other, with a line for each."""
import os, sys, time

from parties import provider


def run(program, cases, slow=()):
    """`program PROGRAM [--deep] [NAME…]`; those in `slow` run only when they are named, or with `--deep`. Exits 1 if a case failed."""
    if len(sys.argv) < 2:
        sys.exit(f"{program}: no program\nhint: make {program}")
    provider.PROGRAM = os.path.abspath(sys.argv[1])
    deep = "--deep" in sys.argv
    names, failed = [name for name in sys.argv[2:] if name != "--deep"], 0
    unknown = set(names) - {case.__name__ for case in cases}
    if unknown:
        sys.exit(f"{program}: unknown case {', '.join(sorted(unknown))}\nhint: {' '.join(case.__name__ for case in cases)}")
    for case in cases:
        if case.__name__ not in names and (names or case in slow and not deep):
            continue
        start = time.time()
        try:
            facts, word = case(), "ok"
        except Exception as fault:
            facts, word, failed = f"{type(fault).__name__}: {fault}", "FAILED", failed + 1
            for server in provider.running:
                if os.path.exists(server.folder + "/log"):
                    sys.stderr.write(open(server.folder + "/log").read()[-2000:])
        finally:
            while provider.running:
                provider.running.pop().stop()
        print(f"{word:<7}{case.__name__:<20}{time.time() - start:6.1f} s  {facts}", flush=True)
    sys.exit(1 if failed else 0)
