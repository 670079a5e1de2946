"""Proves the recipes for containers and remote machines.

Starts a server, an agent of a signed-in person, OpenSSH's server with a forwarded socket, and a container with the folder of the socket. Prints a line for
each case. Needs user namespaces, or root."""
import os, signal, subprocess, sys

from kit import build, server
from kit.report import Report
from kit.web import require, until
from parties.provider import EMAIL, PASSWORD, Provider
from parties.remote import Container, Sshd

NEEDS = ["--tests"]
LIFE = 2


def options(parser):
    parser.add_argument("names", nargs="*", help="only these")


class Agent:
    """`handstamp agent`, and the machine where a person is signed in."""

    def __init__(self, *flags):
        self.server = Provider()
        with open(self.server.clients, "w") as file:
            file.write("[]")
        self.server.start("--access-token-life", f"{LIFE}s")
        self.home, self.socket = self.server.folder + "/home", self.server.folder + "/run/agent.sock"
        done = server.command("login", EMAIL, "--server", self.server.url, text=PASSWORD + "\n", HANDSTAMP_HOME=self.home)
        require(not done.returncode, f"login: {done.stderr}")
        self.start(*flags)

    def start(self, *flags):
        self.process = subprocess.Popen([server.PROGRAM, "agent", "--socket", self.socket, *flags], env=dict(os.environ, HANDSTAMP_HOME=self.home),
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


def container():
    """A container with the folder of the socket gets tokens, also of the next agent, and its other users none."""
    # Its root is the user of this process, or this process is root.
    agent = Agent()
    place = Container(server.PROGRAM, os.path.dirname(agent.socket))
    program = server.PROGRAM
    try:
        token = good(place.run("sh", "-c", f"{program} token && ls -A /home && ! touch /run/handstamp/x 2> /dev/null"), "token").split()
        require(len(token) == 1, f"a home in the container: {token[1:]}")
        require(EMAIL in good(place.run(program, "request", "/v1/me"), "request"), "another person")
        require(good(place.run(program, "exec", "--", "sh", "-c", "echo $HANDSTAMP_TOKEN"), "exec").strip(), "no token in the environment")
        waits = f"first=$({program} token); while [ $({program} token) = $first ]; do sleep 0.2; done"
        good(place.run("sh", "-c", waits), "an expiry")
        refused = place.run(program, "login", EMAIL)
        require(refused.returncode == 1 and "unset HANDSTAMP_AGENT" in refused.stderr, f"login: {refused.stderr}")
        agent.end()
        agent.start()
        good(place.run(program, "token"), "token of the next agent")
        words = "tokens across an expiry and another agent; no vault, and no writing, in the container"
        if os.getuid():
            return words + "; other users are left out: this needs root"
        # A folder that other users can pass through, and an agent that serves one of them.
        agent.end()
        os.chmod(os.path.dirname(agent.socket), 0o711)
        agent.start("--allow-uid", "1000")
        good(place.run(program, "token", user=1000), "token of the user that is allowed")
        refused = place.run(program, "token", user=1001)
        require(refused.returncode == 1 and "does not serve user 1001" in refused.stderr, f"another user: {refused.stderr}")
        agent.end()
        return words + "; only the users that are allowed"
    finally:
        agent.process.kill()
        place.stop()


def main(options):
    report = Report([ssh, container], options.names)
    if words := report.unknown():
        sys.exit("agent: " + words)
    server.PROGRAM = build.program()
    return report.run_all()
