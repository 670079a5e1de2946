"""matrix-synapse from PyPI: a chat server that signs people in by OpenID Connect."""
import json, os, signal, subprocess

from kit.web import JSON, Client, fields, require, until
from kit.server import free_port
from kit.pypi import interpreter

VERSION = "1.163.2"
SETTINGS = """
listeners:
  - {{port: {port}, type: http, bind_addresses: ["127.0.0.1"], resources: [{{names: [client]}}]}}
public_baseurl: "{url}/"
sso: {{client_whitelist: ["{done}"]}}
oidc_providers:
  - idp_id: handstamp
    idp_name: Handstamp
    issuer: "{issuer}"
    skip_verification: true
    client_id: chat
    client_secret: "{secret}"
    scopes: ["openid", "profile"]
    pkce_method: always
    backchannel_logout_enabled: true
    user_mapping_provider: {{config: {{localpart_template: "ada", display_name_template: "{{{{ user.name }}}}"}}}}
"""


class Synapse:
    done = "http://127.0.0.1:9/done"

    def __init__(self, folder):
        self.folder, self.port = folder + "/synapse", free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.redirect = self.url + "/_synapse/client/oidc/callback"
        self.logout = self.url + "/_synapse/client/oidc/backchannel_logout"
        self.python, self.process = interpreter("synapse", f"matrix-synapse[oidc]=={VERSION}"), None
        os.makedirs(self.folder)

    def start(self, issuer, secret):
        command = [self.python, "-m", "synapse.app.homeserver", "--config-path", "homeserver.yaml"]
        subprocess.run(
            command + ["--server-name", "example.org", "--generate-config", "--report-stats=no"], cwd=self.folder, check=True,
            capture_output=True)
        with open(self.folder + "/more.yaml", "w") as file:
            file.write(SETTINGS.format(
                port=self.port, url=self.url, done=self.done, issuer=issuer, secret=secret))
        self.process = subprocess.Popen(
            command + ["--config-path", "more.yaml"], cwd=self.folder, stdout=subprocess.DEVNULL,
            stderr=open(self.folder + "/errors", "w"))
        until(lambda: self.api("GET", "/_matrix/client/versions"), lambda: open(self.folder + "/errors").read()[-1500:], 60)

    def api(self, method, path, body=None, token=None):
        """Returns the status and the JSON of an answer."""
        headers = {**JSON, **({"Authorization": "Bearer " + token} if token else {})}
        answer = Client(self).request(method, path, body and json.dumps(body), headers)
        return answer.status, answer.json

    def sign_in(self, person):
        """Signs a person in by the browser, and returns the access token for the chat."""
        page = person.pass_through(
            self.url + "/_matrix/client/v3/login/sso/redirect/oidc-handstamp?redirectUrl=" + self.done, until=self.done)
        status, answer = self.api(
            "POST", "/_matrix/client/v3/login", dict(type="m.login.token", token=fields(page.url).get("loginToken")))
        require(status == 200, f"no sign-in: {status} {answer} {person.seen} {page.text[:500]}")
        return answer["access_token"]

    def whoami(self, token):
        return self.api("GET", "/_matrix/client/v3/account/whoami", token=token)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
