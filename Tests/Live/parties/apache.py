"""Apache with mod_auth_openidc, both from Debian, as a process of its own."""
import os, subprocess

from kit.server import free_port
from kit.web import call, until


class Apache:
    def __init__(self, folder, modules="/usr/lib/apache2/modules"):
        self.folder, self.modules, self.port = folder + "/apache", modules, free_port()
        os.makedirs(self.folder + "/htdocs/private", exist_ok=True)
        os.chmod(self.folder, 0o711)
        self.url = f"http://127.0.0.1:{self.port}"
        self.redirect, self.logout = self.url + "/private/callback", self.url + "/private/callback?logout=backchannel"
        with open(self.folder + "/htdocs/private/index.html", "w") as file:
            file.write("<title>Private</title>private\n")
        with open(self.folder + "/htdocs/bye.html", "w") as file:
            file.write("<title>Bye</title>bye\n")

    def start(self, issuer, id, secret):
        loads = "\n".join(
            f"LoadModule {name}_module {self.modules}/mod_{name}.so"
            for name in ("mpm_event", "authn_core", "authz_core", "authz_user", "auth_openidc", "dir", "headers", "mime", "alias"))
        with open(self.folder + "/httpd.conf", "w") as file:
            file.write(f"""
{loads}
ServerName 127.0.0.1
Listen 127.0.0.1:{self.port}
PidFile {self.folder}/pid
ErrorLog {self.folder}/error.log
LogLevel warn
TypesConfig /dev/null
AddType text/html .html
DocumentRoot {self.folder}/htdocs
DirectoryIndex index.html
OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration
OIDCClientID {id}
OIDCClientSecret {secret}
OIDCRedirectURI {self.redirect}
OIDCCryptoPassphrase a-passphrase-of-this-test
OIDCScope "openid profile email"
OIDCPKCEMethod S256
OIDCSessionType server-cache
OIDCCookieSameSite On
OIDCStateMaxNumberOfCookies 7 true

<Location /private>
  AuthType openid-connect
  Require valid-user
  Header set X-User "expr=%{{REMOTE_USER}}"
  Header set X-Name "expr=%{{reqenv:OIDC_CLAIM_name}}"
  Header set X-Email "expr=%{{reqenv:OIDC_CLAIM_email}}"
</Location>
""")
        self.process = subprocess.Popen(
            ["/usr/sbin/apache2", "-f", self.folder + "/httpd.conf", "-DFOREGROUND"], stderr=subprocess.DEVNULL)
        until(lambda: call("GET", self.url + "/bye.html"), lambda: "Apache does not start: " + open(self.folder + "/error.log").read()[-2000:])

    def stop(self):
        self.process.terminate()
        self.process.wait()
