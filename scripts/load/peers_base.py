"""A server of others, as scripts/peers measures it: what it needs of the system, its processes, and requests to it."""
import concurrent.futures, http.client, json, os, shutil, signal, socket, subprocess, tempfile, time, urllib.parse

FORM = "application/x-www-form-urlencoded"
PASSWORD = "a-password-of-the-load"
# Where a request has its token, or its name of a user.
TOKEN = "TOKEN"


class Missing(Exception):
    """A server that cannot be measured on this machine; the others can."""


def apt(*command, folder=None):
    """Runs apt-get as root; an error says what is missing."""
    if os.geteuid() and not shutil.which("sudo"):
        raise Missing("only root can install its packages")
    root = ["sudo", "-n"] if os.geteuid() else []

    def run(*words):
        # In a session of its own, so that it ends well also if this is interrupted: packages would be left half installed.
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen([*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-qq", "--no-install-recommends", *words],
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder, start_new_session=True)
            try:
                process.wait()
            finally:
                process.wait()
            output.seek(0)
            return process.returncode, (output.read().strip().splitlines() or ["failed"])[-1]

    if run(*command)[0]:
        # The lists of a fresh machine are empty or old.
        run("update")
        code, error = run(*command)
        if code:
            raise Missing(f"apt-get {command[-1]}: {error}")


def install(*packages):
    if not shutil.which("apt-get") or not shutil.which("dpkg-query"):
        raise Missing("this is not Debian")
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages], capture_output=True, text=True).stdout
    have = {line.split()[0] for line in shown.splitlines() if line.endswith(" installed")}
    if set(packages) - have:
        apt("install", *sorted(set(packages) - have))


def version(package):
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True).stdout


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Peer:
    """`requests` has, for each kind, a path, a body with TOKEN in it, and a text for the header Authorization, or none."""

    def __init__(self, folder):
        self.folder, self.process, self.port, self.settings, self.requests = folder, None, free_port(), {}, {}

    def launch(self, command, **environment):
        """Starts the server in a process group of its own, and waits until it answers anything."""
        with open(self.folder + "/output", "ab") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.folder, start_new_session=True,
                                            env=os.environ | environment)
        deadline = time.monotonic() + 30
        while True:
            try:
                return self.call("GET", "/")
            except (OSError, http.client.HTTPException):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{self.name} does not start") from None
                time.sleep(0.05)

    def log(self):
        """The last lines of what the server wrote."""
        lines = []
        for name in ("output", "log"):
            if os.path.exists(f"{self.folder}/{name}"):
                with open(f"{self.folder}/{name}", errors="replace") as file:
                    lines += file.read().splitlines()[-8:]
        return "\n".join(lines)

    def seconds(self):
        """Processor time of the server and of all its children."""
        times, parents = {}, {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            # Also of children that have ended meanwhile: cutime and cstime.
            times[int(name)], parents[int(name)] = sum(int(field) for field in fields[11:15]), int(fields[1])
        mine = {self.process.pid}
        while more := {child for child, parent in parents.items() if parent in mine} - mine:
            mine |= more
        return sum(times[one] for one in mine) / os.sysconf("SC_CLK_TCK")

    def spent(self):
        """`seconds`, once the server has nothing more to do: it also finishes requests whose client has gone."""
        deadline, last = time.monotonic() + 15, -1
        while (now := self.seconds()) != last and time.monotonic() < deadline:
            last = now
            time.sleep(0.3)
        return now

    def call(self, method, path, body=None, headers=None, kind=FORM):
        """One request; returns status, headers and the JSON of the answer, if it is some."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Content-Type": kind} | (headers or {}))
            response = connection.getresponse()
            text = response.read()
            return response.status, response.headers, json.loads(text) if text[:1] in (b"{", b"[") else text.decode(errors="replace")
        finally:
            connection.close()

    def sign_in(self, user):
        path, body, authorization = self.requests["password"]
        headers = {"Authorization": authorization} if authorization else None
        status, _, answer = self.call("POST", path, body.replace(TOKEN, urllib.parse.quote(user)), headers)
        if status != 200 or "refresh_token" not in answer:
            raise RuntimeError(f"{self.name}: sign-in failed with {status}: {str(answer)[:300]}")
        return answer["access_token"], answer["refresh_token"]

    def sign_ins(self, users, count):
        """`count` sessions in turn. First one after the other: glewlwyd answers one of its first sign-ins with 500 now and then if they come at once."""
        first = [self.sign_in(user) for user in users]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return first + list(pool.map(self.sign_in, (users[number % len(users)] for number in range(count - len(first)))))

    def stop(self):
        # gunicorn ends its workers first, and those end by themselves without it.
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process and not isinstance(self.process.poll(), int):
                os.killpg(self.process.pid, number)
                try:
                    self.process.wait(10)
                except subprocess.TimeoutExpired:
                    pass
