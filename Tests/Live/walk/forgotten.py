"""The walk of a person who forgot the password: on a phone, without script, from an application and back to it."""
import http.server, os, threading, urllib.parse

from kit.web import require
from kit.chromium import Chromium
from walk.site import Site

PHONE = {"deviceMetrics": {"width": 390, "height": 844, "pixelRatio": 2, "touch": True},
         "userAgent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
                      "Version/18.1 Mobile/15E148 Safari/604.1"}
EMAIL, OLD, NEW = "ada@example.org", "a long secret of Ada's", "what I can remember"


class App(http.server.BaseHTTPRequestHandler):
    """The application that a person comes from."""
    seen = []

    def do_GET(self):
        if self.path.startswith("/callback"):
            App.seen.append(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>The app</title><h1>Welcome back</h1>")

    def log_message(self, *_):
        pass


def forgotten(folder=None):
    """Returns the steps, one line each. With a folder, it gets a screenshot of each."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site, steps = Site(), []
    back = f"http://localhost:{server.server_port}/callback"
    site.add("app", "--name", "The app", "--redirect-uri", back)
    site.begin()
    made = site.admin("accounts", "create", EMAIL)
    site.api("POST", "/v1/password-reset/confirm", dict(token=made["reset"]["code"], new_password=OLD))

    with Chromium(site.issuer, script=False, phone=PHONE) as phone:
        def see(words, *texts):
            steps.append(words)
            for text in texts:
                require(text in phone.text() or text == phone.title(), f"step {len(steps)}, {words}: no “{text}” in: {phone.text()[:600]}")
            if folder:
                phone.shot(os.path.join(folder, f"forgotten-{len(steps):02}.png"))

        def press(action, **fields):
            for name, text in fields.items():
                phone.fill(name, text)
            phone.enter(f"button[value={action}]")

        phone.open(site.authorize("app", redirect=back))
        see("the app asks for a sign-in", "Sign in", "The app")
        press("sign-in", email=EMAIL, password="I have no idea")
        see("a wrong password: the address stays, and the error is beside the field", "The email address or the password is wrong.")
        field = phone.find("[name=password]")
        require(field.get_attribute("aria-invalid") == "true", "the field is not marked")
        told = phone.find("#" + field.get_attribute("aria-describedby").split()[0])
        require(told.is_displayed(), "the error is not shown")
        require(phone.find("[name=email]").get_attribute("value") == EMAIL, "the address is lost")
        phone.enter("a[href*='forgot-password']")
        see("asks for a link", "Send link")
        press("send", email=EMAIL)
        see("is told to look at the mail", "Check your mail")
        phone.open(site.link("/reset-password"))
        see("follows the link", "Choose a new password")
        press("reset", new_password="password123")
        see("a password that is guessed at once: the reason beside the field", "attackers")
        press("reset", new_password=NEW)
        see("has a new password", "Your password is set")
        phone.open(site.authorize("app", redirect=back))
        see("is back at the app's sign-in", "The app")
        press("sign-in", email=EMAIL, password=NEW)
        see("allows the app", "Allow")
        press("allow")
        see("is in the app", "Welcome back")
        require("code" in App.seen[-1], f"no code: {App.seen}")
    server.shutdown()
    return steps
