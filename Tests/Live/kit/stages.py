"""One line for each stage of a long command. Its output goes to a file, which an error names."""
import os, re, subprocess, sys, time

LOGS = ".build/logs"
NOISE = re.compile(r"\[\d+/\d+\]|Fetch|Updat|Comput|Creating working|Working copy|Resolv|Building for|Build complete|warning: |note: ")


def stage(line):
    """The stage that a line of SwiftPM belongs to, and how far it is; `None` of other lines."""
    # A build that has nothing to do plans, and writes lists.
    if step := re.match(r"\[(\d+)/(\d+)\] (?!Planning|Write )", line):
        return "compiling", f"{int(step[1]):,} of {int(step[2]):,}"
    if re.match(r"(Fetching|Fetched|Updating|Computing version|Creating working copy)\b", line):
        return "fetching packages", ""
    return None


class Display:
    """On a terminal a stage has one line, which changes; elsewhere it is told once."""

    def __init__(self, output=None, is_terminal=None):
        self.output = output or sys.stderr
        self.is_terminal = self.output.isatty() if is_terminal == None else is_terminal
        self.words, self.began = None, time.monotonic()

    def show(self, words, progress=""):
        if words != self.words:
            self.close()
            self.words, self.began = words, time.monotonic()
            if not self.is_terminal:
                self.output.write(words + "\n")
        if self.is_terminal:
            self.output.write(f"\r\033[K{words} {progress}".rstrip())
        self.output.flush()

    def close(self):
        """Ends the line of a stage."""
        if self.words and self.is_terminal:
            self.output.write(f"\r\033[K{self.words}, {time.monotonic() - self.began:.0f} s\n")
        self.words = None


def run(log, command, environment=None, words=None, **options):
    """Runs a command to its end. Stages get the words, if there are some: `words: compiling`. An error ends this program."""
    status, path = watch(log, command, environment, words, **options)
    if status:
        fail(path, command)


def watch(log, command, environment=None, words=None, progress=stage, append=False, begun=None):
    """Runs a command to its end, which `begun` hears of first. Returns its status, and the path of its output."""
    os.makedirs(LOGS, exist_ok=True)
    path, display = f"{LOGS}/{log}.log", Display()
    with open(path, "a" if append else "w", buffering=1) as file:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace")
        if begun:
            begun(process, path)
        for line in process.stdout:
            file.write(line)
            if found := progress(line):
                display.show(f"{words}: {found[0]}" if words and found[0] else words or found[0], found[1])
    display.close()
    return process.wait(), path


def findings(text, most=60):
    """What a log says beside progress: the last lines, and of a crash its cause without registers and images."""
    text = re.sub(r"^Registers:$.*?^(Backtrace took .*|\Z)", r"\1", text, flags=re.M | re.S)
    lines = [line[:1000] for line in text.splitlines() if line.strip() and not NOISE.match(line)]
    return list(dict.fromkeys(lines))[-most:]


def fail(path, command):
    with open(path) as file:
        print("\n".join(findings(file.read())), file=sys.stderr)
    sys.exit(f"{' '.join(command[:2])} failed\nhint: the whole output is in {path}")
