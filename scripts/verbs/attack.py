"""Attacks a server from outside, over HTTP.

Starts it as often as needed, and prints a line for each attack with its figure. Under a flood, compares the refreshes of honest clients with those
before it (p99), and fails if they take more than ten times as long. Takes about two minutes on two idle cores, and at most 1500 sockets."""
import resource, sys, threading

from attacks import accounts, ends, factors, floods, hooks, http2, imports, oauth, operation, owners, passwords, providers, settings, timing, wire
from kit import build, server
from kit.report import Report

# Measurements of time come first, alone. Slow clients wait behind everything else, and the rest has no need of quiet.
QUIET, FLOODS, SLOW = timing.ATTACKS, floods.ATTACKS + [passwords.guesses], wire.SLOW + providers.SLOW + hooks.SLOW
REST = [passwords.ATTACKS + accounts.ATTACKS + owners.ATTACKS + settings.ATTACKS + factors.ATTACKS + imports.ATTACKS + imports.LONG,
        oauth.ATTACKS + wire.ATTACKS + http2.ATTACKS + operation.ATTACKS + providers.ATTACKS + ends.ATTACKS + hooks.ATTACKS + hooks.LONG]
# These take long.
LONG = [settings.circles, settings.open_files, settings.unsaid, operation.restarts, operation.restored, owners.waiting_address, owners.taken_back,
        *imports.LONG, *hooks.LONG]
SHORT = [attack for attack in sum(REST, []) if attack not in passwords.ATTACKS + LONG]


def options(parser):
    parser.add_argument("--short", action="store_true", help="only those that take little time and measure none")
    parser.add_argument("names", nargs="*", help="only these")


def main(options):
    names = [attack.__name__ for attack in SHORT] if options.short else options.names
    report = Report(QUIET + FLOODS + SLOW + sum(REST, []), names)
    if words := report.unknown():
        sys.exit("attack: " + words)
    server.PROGRAM = build.program()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    def begin(*attacks):
        """Makes attacks one after another, beside what follows."""
        thread = threading.Thread(target=lambda: [report.run(attack) for attack in attacks])
        thread.start()
        return thread

    try:
        for attack in QUIET:
            report.run(attack)
        threads = [begin(attack) for attack in SLOW]
        for attack in FLOODS[:-1]:
            report.run(attack)
        # The last one goes on for longer than it is measured.
        threads.append(begin(FLOODS[-1]))
        while threads[-1].is_alive() and not passwords.measured.wait(0.1):
            pass
        threads += [begin(*attacks) for attacks in REST]
        for thread in threads:
            thread.join()
    finally:
        status = report.end()
    return status
