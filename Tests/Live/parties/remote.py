"""Another machine, as sshd makes one of this."""
import os, shlex, shutil, subprocess, tempfile

from kit.server import free_port
from kit.web import require, until


class Sshd:
    """OpenSSH's server on a port of loopback, for the user of this process, with keys of its own."""

    def __init__(self):
        self.folder, self.port, self.tunnels = tempfile.mkdtemp(prefix="handstamp-ssh-"), free_port(), []
        for name in ("host", "person"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.file(name)], check=True)
        shutil.copy(self.file("person.pub"), self.file("authorized_keys"))
        with open(self.file("config"), "w") as config:
            # Of docs/agent.md is the last line; the others are for a server without root's files.
            config.write(f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self.file('host')}\nPidFile none\nUsePAM no\nStrictModes no\n"
                         f"PermitRootLogin yes\nAuthorizedKeysFile {self.file('authorized_keys')}\nStreamLocalBindUnlink yes\n")
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.log = open(self.file("log"), "w+")
        self.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", self.file("config")],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def file(self, name):
        return f"{self.folder}/{name}"

    def command(self, *words):
        return ["ssh", "-F", "none", "-p", str(self.port), "-i", self.file("person"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
                "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", *words, "127.0.0.1"]

    def forward(self, remote, local):
        """Forwards `remote` there to `local` here, as `ssh -R` does, and waits for it."""
        until(lambda: not subprocess.run(self.command() + ["true"], stdin=subprocess.DEVNULL, capture_output=True).returncode,
              lambda: f"no sign-in by ssh: {open(self.file('log')).read()[-2000:]}")
        former = os.stat(remote).st_ctime_ns if os.path.exists(remote) else None
        tunnel = subprocess.Popen(self.command("-N", "-o", "ExitOnForwardFailure=yes", "-R", f"{remote}:{local}"), stdin=subprocess.DEVNULL)
        self.tunnels.append(tunnel)
        until(lambda: os.path.exists(remote) and os.stat(remote).st_ctime_ns != former or tunnel.poll() is not None, "no forwarded socket")
        require(tunnel.poll() == None, "ssh does not forward the socket")
        return tunnel

    def run(self, program, *words, **environment):
        """Runs a program there. Its environment is that of a sign-in, and these variables."""
        line = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
        done = self.command() + [f"env {line} {shlex.join([program, *words])}"]
        return subprocess.run(done, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def stop(self):
        for process in [*self.tunnels, self.process]:
            process.kill()
            process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
