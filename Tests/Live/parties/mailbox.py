"""Dovecot from Debian, an IMAP server that lets people in by an access token, about which it asks the OpenID provider."""
import imaplib, os, shutil, subprocess

from kit.web import require, until
from kit.server import free_port

MAIL = ["dovecot-core", "dovecot-imapd"]
SETTINGS = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
auth_mechanisms = xoauth2 oauthbearer
default_internal_user = dovecot
default_login_user = dovenull
first_valid_uid = 1
mail_location = maildir:{folder}/mail/%u
passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {folder}/oauth2.conf
}}
userdb {{
  driver = static
  args = uid=mail gid=mail home={folder}/mail/%u
}}
service imap-login {{
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
  chroot =
}}
service anvil {{
  chroot =
}}
"""


class Dovecot:
    def __init__(self, folder, *oauth2):
        """`oauth2` are the lines of its settings for tokens."""
        self.folder, self.port = folder + "/dovecot", free_port()
        os.makedirs(self.folder + "/mail")
        os.chmod(self.folder, 0o755)
        shutil.chown(self.folder + "/mail", "mail", "mail")
        with open(self.folder + "/oauth2.conf", "w") as file:
            file.write("\n".join(oauth2) + "\n")
        with open(self.folder + "/conf", "w") as file:
            file.write(SETTINGS.format(folder=self.folder, port=self.port))
        self.process = subprocess.Popen(["/usr/sbin/dovecot", "-F", "-c", self.folder + "/conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self.answers, lambda: "Dovecot does not start: " + self.log())

    def answers(self):
        try:
            return imaplib.IMAP4("127.0.0.1", self.port, timeout=5).logout()
        except imaplib.IMAP4.error:
            return False

    def log(self):
        with open(self.folder + "/log") as file:
            return file.read()[-2000:]

    def opens(self, user, token):
        """Whether the mailbox of `user` opens with an access token (SASL XOAUTH2)."""
        client = imaplib.IMAP4("127.0.0.1", self.port, timeout=30)
        try:
            client.authenticate("XOAUTH2", lambda challenge: b"" if challenge else f"user={user}\1auth=Bearer {token}\1\1".encode())
            require(client.select("INBOX")[0] == "OK", "the mailbox does not open")
            return True
        except imaplib.IMAP4.error:
            return False
        finally:
            client.shutdown()

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
