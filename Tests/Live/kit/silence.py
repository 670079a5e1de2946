"""Ends a process whose tests hang. A suite's limit ends its tests; what never looks at it would keep the process for ever."""
import os, re, shutil, signal, subprocess, threading, time

# Longer than the limit of any suite.
LIMIT = 15 * 60


def below(number):
    """The process with that number and all that it has begun, with their command lines."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], stdout=subprocess.PIPE, text=True, errors="replace").stdout
    rows = [line.split(None, 2) for line in listed.splitlines() if len(line.split(None, 2)) == 3]
    found, new = {}, {str(number)}
    while new:
        found |= {row[0]: row[2] for row in rows if row[0] in new}
        new = {row[0] for row in rows if row[1] in found} - found.keys()
    return {int(number): words for number, words in found.items()}


def stacks(number):
    """What each thread of a process is in, where there is gdb."""
    if not shutil.which("gdb"):
        return "the stacks of its threads: install gdb"
    shown = subprocess.run(["gdb", "-p", str(number), "-batch", "-ex", "thread apply all bt 12"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, errors="replace").stdout
    return "\n".join(line[:160] for line in shown.splitlines() if re.match(r"Thread |#", line))


def unfinished(text):
    """The tests of a log that have begun and not ended."""
    began = re.findall(r"^◇ Test (?!run|case)(.*) started\.$", text, re.M)
    ended = set(re.findall(r"^[✔✘➜] Test (.*?) (?:passed|failed|skipped)", text, re.M))
    return [name for name in dict.fromkeys(began) if name not in ended]


class Guard:
    """Looks at a process and its log until the process ends. Afterwards `words` says what was found, if that was silence."""

    def __init__(self, process, log, limit=None):
        self.process, self.log, self.limit, self.words = process, log, limit or LIMIT, []
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        size, since = -1, time.monotonic()
        while True:
            try:
                self.process.wait(min(self.limit / 4, 5))
                return
            except subprocess.TimeoutExpired:
                now = os.path.getsize(self.log)
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > self.limit:
                return self.end()

    def end(self):
        processes = below(self.process.pid)
        testing = [number for number, words in processes.items() if ".xctest" in words] or [self.process.pid]
        with open(self.log, errors="replace") as file:
            names = unfinished(file.read())
        self.words = [f"ended after {self.limit / 60:.0f} minutes without a word", *(f"not finished: {name}" for name in names[:20]), *map(stacks, testing[-1:])]
        for number in processes:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
