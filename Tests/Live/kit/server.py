"""A session server as a process, in a folder of its own."""
import json, os, random, shutil, signal, socket, subprocess, tempfile

from kit import build
from kit.web import Lost, require

PROGRAM = ""
running = []


def command(*words, text="", **environment):
    """Runs the program that has the command to its end."""
    program = build.operators(PROGRAM) if words[0] in ("serve", "admin", "gate") else PROGRAM
    return subprocess.run([program, *words], input=text, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


def told(*words, text=""):
    """What a command of the program prints as JSON."""
    done = command(*words, "--json", text=text)
    require(done.returncode == 0, f"{' '.join(words[:4])}: {done.stderr}")
    return json.loads(done.stdout or "{}")


def free_port():
    """Below those of outgoing connections, one of which could take it until it is listened at."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Server:
    """Listens where `launch` says; the folder is removed at the end."""
    host = "127.0.0.1"

    def __init__(self):
        self.folder, self.process, self.port = tempfile.mkdtemp(prefix="handstamp-"), None, None
        # PostgreSQL and Apache, which are other users, pass through it.
        os.chmod(self.folder, 0o711)
        running.append(self)

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def launch(self, *flags, port=0, wrapper=(), **more):
        """Starts it and waits until it listens."""
        with open(self.folder + "/log", "a") as log:
            self.process = subprocess.Popen([*wrapper, build.operators(PROGRAM), "serve", "--data", self.folder + "/data", "--port", str(port), *flags],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, **more)
        line = self.process.stdout.readline()
        if not line:
            raise Lost(f"the server did not start with {' '.join(flags)}: {self.log()}")
        self.port = int(line.rsplit(":", 1)[1])

    def log(self):
        if not os.path.exists(self.folder + "/log"):
            return ""
        with open(self.folder + "/log", errors="replace") as file:
            return file.read()[-2000:]

    def admin(self, *words, text=""):
        """What `handstamp-server admin` on the server's folder prints."""
        return told("admin", *words, "--data", self.folder + "/data", text=text)

    def runs(self):
        return bool(self.process) and self.process.poll() == None

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def end(self):
        """Stops it as an operator does, and returns its status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def remove(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def seconds(self):
        """The processor time that it has taken."""
        return seconds(self.process.pid)

    def resident(self):
        """Memory in KB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def files(self):
        """How many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def seconds(pid, with_ended_children=False):
    with open(f"/proc/{pid}/stat") as file:
        times = file.read().rsplit(")", 1)[1].split()[11:15 if with_ended_children else 13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def remove_all():
    while running:
        running.pop().remove()
