"""Proves the recipes for containers and remote machines.

Starts a server, an agent of a signed-in person, OpenSSH's server with a forwarded socket, and a container with the folder of the socket. Prints a line for
each case. Needs user namespaces, or root."""
import os, signal, subprocess, sys

from kit import build, server
from kit.report import Report
from kit.web import Client, require, until
from parties.remote import Sshd

NEEDS = ["--tests"]
LIFE = 2
EMAIL, PASSWORD = "ada@example.org", "a long secret of Ada's"


def options(parser):
    parser.add_argument("names", nargs="*", help="only these")


class Agent:
    """`handstamp agent`, and the machine where a person is signed in."""

    def __init__(self):
        self.server = server.Server()
        self.server.launch("--access-token-life", f"{LIFE}s", "--log-level", "warning")
        Client(self.server).sign_up(EMAIL, PASSWORD)
        self.home, self.socket = self.server.folder + "/home", self.server.folder + "/run/agent.sock"
        done = server.command("login", EMAIL, "--server", self.server.url, text=PASSWORD + "\n", HANDSTAMP_HOME=self.home)
        require(not done.returncode, f"login: {done.stderr}")
        self.start()

    def start(self):
        self.process = subprocess.Popen([server.PROGRAM, "agent", "--socket", self.socket], env=dict(os.environ, HANDSTAMP_HOME=self.home),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        require(self.process.stdout.readline().strip() == self.socket, "the agent does not start")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        require(not os.path.exists(self.socket), "the agent leaves its socket")


def good(done, words):
    require(not done.returncode, f"{words}: {done.returncode} {done.stderr or done.stdout}")
    return done.stdout


def ssh():
    """A socket that ssh forwards gives tokens across expiries and a broken connection, and none after the agent's end."""
    if not os.path.exists("/usr/sbin/sshd"):
        return "left out: there is no sshd; its package is openssh-server"
    agent, machine = Agent(), Sshd()
    try:
        remote = machine.file("agent.sock")
        where = dict(HANDSTAMP_AGENT=remote, HANDSTAMP_HOME=machine.file("home"))
        tunnel = machine.forward(remote, agent.socket)
        require(os.stat(remote).st_mode & 0o777 == 0o600, "others there can open the socket")
        first = good(machine.run(server.PROGRAM, "token", **where), "token")
        until(lambda: good(machine.run(server.PROGRAM, "token", **where), "token") != first, "the same token after its time", LIFE + 5, 0.2)
        require(EMAIL in good(machine.run(server.PROGRAM, "request", "/v1/me", **where), "request"), "another person")
        tunnel.kill()
        tunnel.wait()
        lost = machine.run(server.PROGRAM, "token", **where)
        require(lost.returncode == 6 and "hint: run handstamp agent" in lost.stderr, f"without ssh: {lost.returncode} {lost.stderr}")
        # StreamLocalBindUnlink: the socket of the broken connection is in the way.
        machine.forward(remote, agent.socket)
        good(machine.run(server.PROGRAM, "token", **where), "token after another connection")
        agent.end()
        lost = machine.run(server.PROGRAM, "token", **where)
        require(lost.returncode == 6, f"without an agent: {lost.returncode} {lost.stderr}")
        agent.start()
        good(machine.run(server.PROGRAM, "token", **where), "token after another agent")
        require(not os.path.exists(machine.file("home")), "there is a vault")
        agent.end()
        return "tokens across an expiry, a broken connection and another agent; no vault there"
    finally:
        machine.stop()
        agent.process.kill()


# In a mount namespace of its own: without what is in /etc, the server's folder and the vault, and with the folder of the socket, read-only.
ENTER = """
set -e
hidden=$1 folder=$2
shift 2
mount -t tmpfs none /run
mkdir /run/handstamp
mount --bind "$folder" /run/handstamp
mount -o remount,bind,ro /run/handstamp
mount -t tmpfs none "$hidden"
mount -t tmpfs none /etc
exec env -i PATH=/usr/bin:/bin HOME="$hidden" HANDSTAMP_AGENT=/run/handstamp/agent.sock "$@"
"""


def container():
    """A container with the folder of the socket, as `docker run -v FOLDER:/run/handstamp:ro` makes one, gets tokens, also of the next agent."""
    agent = Agent()
    maps = [] if os.getuid() == 0 else ["--map-root-user"]

    def within(*words):
        return subprocess.run(["unshare", "--mount", "--propagation", "private", *maps, "sh", "-c", ENTER, "sh", agent.server.folder,
                               os.path.dirname(agent.socket), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    try:
        words = f'{server.PROGRAM} token && ls -A "$HOME" /etc && ! touch /run/handstamp/x 2> /dev/null'
        shown = good(within("sh", "-c", words), "token").split()
        require(len(shown) == 3 and all(line.endswith(":") for line in shown[1:]), f"files in the container: {shown[1:]}")
        until(lambda: good(within(server.PROGRAM, "token"), "token").strip() != shown[0], "the same token after its time", LIFE + 5, 0.2)
        require(EMAIL in good(within(server.PROGRAM, "request", "/v1/me"), "request"), "another person")
        agent.end()
        agent.start()
        good(within(server.PROGRAM, "token"), "token of the next agent")
        agent.end()
        return "tokens across an expiry and another agent; no vault, and no writing, in the container"
    finally:
        agent.process.kill()


def main(options):
    report = Report([ssh, container], options.names)
    if words := report.unknown():
        sys.exit("agent: " + words)
    server.PROGRAM = os.path.abspath(build.program())
    return report.run_all()
