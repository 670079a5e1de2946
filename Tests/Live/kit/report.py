"""A line for each case of a proof, and how many failed."""
import os, shlex, sys, threading, time, traceback

from kit import server
from kit.web import Lost


class Report:
    def __init__(self, cases, names=()):
        """With names, only these cases run."""
        self.cases, self.names, self.ran, self.failed, self.began = list(cases), list(names), 0, [], time.monotonic()
        self.lock = threading.Lock()

    def unknown(self):
        """What is wrong with the names, in words; `None` if nothing is."""
        wrong = [name for name in self.names if name not in [case.__name__ for case in self.cases]]
        return f"unknown: {' '.join(wrong)}\nhint: use one of {' '.join(case.__name__ for case in self.cases)}" if wrong else None

    def run(self, case, *arguments):
        """Runs one, if it is among the names. It returns its figures in words, or raises what went wrong."""
        if self.names and case.__name__ not in self.names:
            return
        began = time.monotonic()
        try:
            words, is_good = case(*arguments), True
        except Lost as error:
            words, is_good = str(error), False
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            words, is_good = f"{error!r} ({os.path.basename(place.filename)}:{place.lineno})", False
        with self.lock:
            self.ran += 1
            if not is_good:
                self.failed.append(case.__name__)
            print(f"{'ok' if is_good else 'FAILED':7}{case.__name__:25}{time.monotonic() - began:6.1f} s  {words}", flush=True)
        return is_good

    def run_all(self):
        """One after the other; each has its servers for itself."""
        for case in self.cases:
            is_good = self.run(case)
            if is_good is False:
                for each in server.running:
                    print(each.log())
            server.remove_all()
        return self.end()

    def end(self):
        server.remove_all()
        print(f"{self.ran} in {time.monotonic() - self.began:.0f} s, {len(self.failed)} failed" + (": " if self.failed else "") + ", ".join(self.failed))
        if self.failed:
            print(f"hint: to repeat these alone: {shlex.join([*(word for word in sys.argv if word not in self.names), *self.failed])}")
        return 1 if self.failed else 0
