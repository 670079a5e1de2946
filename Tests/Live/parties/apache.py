"""Apache with a module that protects its pages, both from Debian, as a process of its own."""
import os, subprocess

from kit.server import free_port
from kit.web import call, until

MODULES = ["mpm_event", "authn_core", "authz_core", "authz_user", "dir", "headers", "mime", "alias"]


def httpd(folder, port, module, settings):
    """The command that serves the pages of `folder`/htdocs, with this module and these settings."""
    loads = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in [*MODULES, module])
    os.chmod(folder, 0o755)
    with open(folder + "/httpd.conf", "w") as file:
        file.write(f"""
{loads}
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog {folder}/log
LogLevel warn
TypesConfig /dev/null
AddType text/html .html
DocumentRoot {folder}/htdocs
DirectoryIndex index.html
{settings}
""")
    return ["/usr/sbin/apache2", "-f", folder + "/httpd.conf", "-DFOREGROUND"]


class Apache:
    """With mod_auth_openidc."""
    def __init__(self, folder):
        self.folder, self.port = folder + "/apache", free_port()
        os.makedirs(self.folder + "/htdocs/private")
        self.url = f"http://127.0.0.1:{self.port}"
        self.redirect, self.logout = self.url + "/private/callback", self.url + "/private/callback?logout=backchannel"
        for name, title in (("private/index", "Private"), ("bye", "Bye")):
            with open(f"{self.folder}/htdocs/{name}.html", "w") as file:
                file.write(f"<title>{title}</title>\n")

    def start(self, issuer, id, secret):
        command = httpd(self.folder, self.port, "auth_openidc", f"""
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
</Location>""")
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        until(lambda: call("GET", self.url + "/bye.html"), lambda: "Apache does not start: " + open(self.folder + "/log").read()[-2000:])

    def stop(self):
        self.process.terminate()
        self.process.wait()
