"""oidc-agent: keeps a person's tokens for the programs of a command line."""
import os, re, signal, subprocess

from kit.web import require


class Agent:
    def __init__(self, folder):
        self.environment = dict(os.environ, HOME=folder, OIDC_CONFIG_DIR=folder + "/agent", XDG_RUNTIME_DIR=folder)
        os.makedirs(folder + "/agent", exist_ok=True)
        told = subprocess.run(["oidc-agent"], env=self.environment, capture_output=True, text=True, check=True).stdout
        self.environment["OIDC_SOCK"] = re.search(r"OIDC_SOCK=([^;]+)", told).group(1)
        self.process = int(re.search(r"OIDCD_PID=(\d+)", told).group(1))

    def sign_in(self, issuer, client, redirect, person):
        """Lets a person at a browser allow it; the browser comes back to the agent's own web server."""
        process = subprocess.Popen(
            ["oidc-gen", "--manual", "--issuer=" + issuer, "--client-id=" + client, "--client-secret=",
             "--scope=openid profile offline_access", "--redirect-uri=" + redirect, "--flow=code", "--no-url-call",
             "--prompt=none", "--confirm-default", "--pw-cmd=echo secret", "ada"],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        told = []
        try:
            for line in process.stdout:
                told.append(line)
                address = re.search(r"http\S+/oauth/authorize\S+", line)
                if address:
                    page = person.pass_through(address.group(0))
                    require(page.title == "Success", f"the agent's page: {page.text[:300]}")
            process.wait(30)
        finally:
            process.kill()
        require(process.returncode == 0, "".join(told))

    def token(self):
        """A new access token; `None` if the agent is refused."""
        answer = subprocess.run(["oidc-token", "--force-new", "ada"], env=self.environment, capture_output=True, text=True, timeout=60)
        return answer.stdout.strip() if answer.returncode == 0 else None

    def stop(self):
        try:
            os.kill(self.process, signal.SIGTERM)
        except ProcessLookupError:
            pass
