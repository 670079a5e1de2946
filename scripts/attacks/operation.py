"""Attacks by circumstances: settings that would be unsafe, a full disk, signals."""
import resource, signal, subprocess, tempfile, time

from attacks import target
from attacks.target import Client, Holder, Server, require


def cleartext():
    """Has the server send passwords and tokens in clear: by its address, and by the address that it gives to clients."""
    refused = []
    for flags in (
        ["--host", "0.0.0.0"], ["--host", "::"], ["--issuer", "http://id.example.org"], ["--issuer", "http://10.0.0.5:8080"],
        ["--issuer", "http://127.0.0.1.example.org"], ["--issuer", "http://localhost.example.org"], ["--issuer", "http://127.0.0.1@example.org"],
        ["--host", "0.0.0.0", "--trusted-proxies", "127.0.0.1", "--issuer", "http://id.example.org"],
    ):
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = subprocess.run(
                    [target.PROGRAM, "serve", "--data", folder, "--port", "0", "--log-level", "error", *flags], stdin=subprocess.DEVNULL,
                    capture_output=True, text=True, timeout=5)
            except subprocess.TimeoutExpired:
                raise target.Failure(f"it serves with {' '.join(flags)}")
        require(result.returncode and not result.stdout and "hint:" in result.stderr, f"{' '.join(flags)}: {result.stderr}")
        refused.append(flags)
    return f"{len(refused)} settings refused"


def disk_full():
    """Fills the disk: the server says so, and no client takes it for the end of its session. Then there is room again."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    client = Client(server)
    holder = Holder(client, client.guest())
    require(holder.refresh().status == 200 and client.get("/ready").status == 200, "the server is not ready")
    pid, former = server.process.pid, resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    # A limit on the size of files has the effect of a full disk: every write fails.
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, former[1]))
    time.sleep(2.1)
    statuses = {"refresh": [holder.refresh() for _ in range(3)], "guest": [client.post("/v1/sign-in/anonymous", dict(
        device=dict(id="d", name="n", platform="p")))], "/ready": [client.get("/ready")]}
    require(server.runs(), "the server ended")
    for name, answers in statuses.items():
        for answer in answers:
            require(answer.status == 503, f"{name} on a full disk: {answer.status} {answer.text}")
    require(all(answer["Retry-After"] for answer in statuses["refresh"]), "no Retry-After")
    require(client.get("/health").status == 200, "/health does not answer")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, former)
    end = time.monotonic() + 6
    while client.get("/ready").status != 200:
        require(time.monotonic() < end, "/ready does not recover")
        time.sleep(0.2)
    answer = holder.refresh()
    require(answer.status == 200, f"the session did not survive: {answer.status} {answer.text}")
    return "refresh, sign-in and /ready are 503, /health is 200; with room again the session goes on"


def hangup():
    """Sends SIGHUP, which ends most programs, and again at once."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    client = Client(server)
    holder = Holder(client, client.guest())
    for _ in range(20):
        server.process.send_signal(signal.SIGHUP)
        require(holder.refresh().status == 200, "a refresh failed")
    with open(server.folder + "/clients.json", "w") as file:
        file.write("{")
    server.process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    require(server.runs(), "the process has ended")
    require(holder.refresh().status == 200, "a refresh failed after a reload of unusable settings")
    return "the process and its sessions survive 21 signals, and unusable settings"


ATTACKS = [cleartext, disk_full, hangup]
