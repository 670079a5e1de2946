"""Proves passkeys in apps and on the pages.

Starts the server at localhost. An authenticator in software answers in an app, with ES256 and RS256, rightly and wrongly; Chromium's virtual one does on
the pages. Prints a line for each case."""
import base64, json, sys

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from kit import build, server
from kit.chromium import Chromium
from kit.p256 import Passkey
from kit.report import Report
from kit.web import Lost, Person, require, until
from parties.provider import EMAIL, PASSWORD
from walk.site import Site

NEEDS = ["--tests"]


def options(parser):
    parser.add_argument("names", nargs="*", help="only these")


class RSAPasskey(Passkey):
    """Signs with RS256, as Windows does."""

    def __init__(self, origin):
        super().__init__(origin)
        self.private = rsa.generate_private_key(65537, 2048)
        modulus = self.private.public_key().public_numbers().n.to_bytes(256, "big")
        self.cose = b"\xa4\x01\x03\x03\x39\x01\x00\x20\x59\x01\x00" + modulus + b"\x21\x43\x01\x00\x01"

    def sign(self, message):
        return self.private.sign(message, padding.PKCS1v15(), SHA256())


def site(*flags):
    """A server with the account of Ada. Addresses such as 127.0.0.1 have no passkeys."""
    site = Site()
    site.start("--issuer", site.issuer, "--mail-folder", site.mails, *flags)
    return site


class Visitor(Person):
    """A person whose browser has a passkey."""

    def __init__(self, site, passkey=None, email=EMAIL):
        super().__init__(email, PASSWORD)
        self.site, self.passkey = site, passkey or Passkey(site.issuer)

    def page(self, path):
        return self.open(self.site.issuer + path)

    def options(self, page, path="/passkey/options"):
        answer = self.load("POST", self.site.issuer + path, headers={"X-CSRF-Token": page.hidden()["csrf"]})
        require(answer.status == 200, f"no options: {answer.status} {answer.text[:200]}")
        return json.loads(answer.text)

    def add(self):
        """Signs in with the password, and adds the passkey."""
        self.submit(self.page("/sign-in"), "sign-in", email=self.email, password=self.password)
        page = self.page("/account/security")
        made = self.passkey.create(self.options(page, "/account/passkey/options"))
        has(self.submit(page, "add-passkey", passkey=made), "You can now sign in with your passkey.")

    def use(self, page=None, answer=None, **choices):
        page = page or self.page("/sign-in")
        return self.submit(page, "passkey", passkey=answer or self.passkey.get(self.options(page), **choices))


def has(page, words):
    require(words in page.text, f"“{words}” is missing on {page.title} ({page.status}): {page.text[:3000]}")


def refused(site, code, path, body):
    """A request of the app that is refused with a code."""
    try:
        site.api("POST", path, body)
    except Lost as error:
        return require(code in str(error), f"another refusal: {error}")
    raise Lost("it was not refused: " + code)


def app():
    """An app adds passkeys with its access token, signs in and proves its owner with them, and removes them; each response is the list that is left."""
    here = site()
    other, device = Passkey(here.issuer), dict(id="d-3", name="Tablet", platform="ios")
    require(here.api("GET", "/v1/passkeys")["passkeys"] == [], "an account with passkeys")
    for kind in (Passkey, RSAPasskey):
        passkey = kind(here.issuer)

        def get():
            return passkey.get(here.api("POST", "/v1/sign-in/passkey/options"))

        made = passkey.create(here.api("POST", "/v1/passkeys/options"))
        known = here.api("POST", "/v1/passkeys", dict(passkey=made))
        require(known["rp_id"] == "localhost" and [each["id"] for each in known["passkeys"]] == [passkey.name], f"another list: {known}")
        require(known["user_handle"] == passkey.user, "another user handle than the device's")
        refused(here, "passkey_expired", "/v1/passkeys", dict(passkey=made))
        again = here.api("POST", "/v1/passkeys/options")
        require([entry["id"] for entry in again["excludeCredentials"]] == [passkey.name], "the device may make a second one")
        refused(here, "passkey_unverified", "/v1/passkeys", dict(passkey=other.create(again, is_verified=False)))
        answer = get()
        require("refresh_token" in here.api("POST", "/v1/sign-in/passkey", dict(passkey=answer, device=device)), "no session")
        refused(here, "passkey_expired", "/v1/sign-in/passkey", dict(passkey=answer, device=device))
        require("access_token" in here.api("POST", "/v1/reauthenticate", dict(passkey=get())), "no proof")
        require(here.api("DELETE", "/v1/passkeys/" + passkey.name)["passkeys"] == [], "the passkey is still there")
        refused(here, "passkey_unknown", "/v1/sign-in/passkey", dict(passkey=get(), device=device))
    browser = Visitor(here)
    browser.submit(browser.page("/sign-in"), "sign-in", email=EMAIL, password=PASSWORD)
    theirs = browser.options(browser.page("/account/security"), "/account/passkey/options")
    refused(here, "passkey_expired", "/v1/passkeys", dict(passkey=other.create(theirs)))
    return "added, once; without a check, or with another session's options, not; signed in, proved the owner, removed, unknown then; ES256 and RS256"


def refusals():
    """Answers on the page that are wrong in one point each."""
    here = site()
    person = Visitor(here)
    person.add()
    guest, other, copy = (Visitor(here, person.passkey) for _ in range(3))
    cases = []

    def wrong(words, page):
        require(page.title.startswith("Sign in") and page.status == 401, f"{words}: {page.status} {page.title}")
        cases.append(words)
        return page

    has(wrong("no user verification", guest.use(is_verified=False)), "didn’t check that it’s you")
    wrong("another origin", guest.use(origin="https://evil.example"))
    wrong("a port more", guest.use(origin=here.issuer + "1"))
    page = guest.page("/sign-in")
    answer = json.loads(guest.passkey.get(guest.options(page)))
    signature = base64.urlsafe_b64decode(answer["response"]["signature"] + "==")
    answer["response"]["signature"] = base64.urlsafe_b64encode(signature[:-1] + bytes([signature[-1] ^ 1])).decode().rstrip("=")
    wrong("a wrong signature", guest.use(page, json.dumps(answer)))
    wrong("a challenge of another browser", guest.use(answer=guest.passkey.get(other.options(other.page("/sign-in")))))
    page = guest.page("/sign-in")
    answer = guest.passkey.get(guest.options(page))
    copy.cookies = {host: dict(jar) for host, jar in guest.cookies.items()}
    require(guest.use(page, answer).status == 200, "the right answer is refused")
    wrong("the same answer again", copy.use(page, answer))
    last = person.passkey.count
    for words, count in [("a counter that stands still", last), ("a counter of an older copy", 1)]:
        # It counts up before it signs.
        person.passkey.count = count - 1
        wrong(words, other.use())
    person.passkey.count = last + 5
    require(other.use().status == 200, "the next right answer is refused")
    for text in ["{}", "[", '{"type":"public-key"}', "A" * 9000]:
        wrong(f"{text[:20]!r}", Visitor(here).use(answer=text))
    page = person.page("/account/security")
    made = Passkey(here.issuer).create(person.options(page, "/account/passkey/options"), is_verified=False)
    has(person.submit(page, "add-passkey", passkey=made), "didn’t check that it’s you")
    return f"{len(cases) + 1} wrong answers refused: " + ", ".join(cases[:8]) + " …"


def proof():
    """A session that is older than the proof lasts: the passkey proves the owner again, another one does not."""
    here = site("--reauthenticate-after", "1s")
    person, stranger = Visitor(here), Visitor(here, email="eve@example.org")
    elsewhere = Visitor(here)
    elsewhere.submit(elsewhere.page("/sign-up"), "sign-up", name="Eve", email=stranger.email, new_password=PASSWORD)
    stranger.add()
    person.add()

    def asks():
        page = person.page("/account/security")
        return page if page.has("unlock") else None
    page = person.submit(until(asks, "the proof does not expire", 10), "unlock")
    require(page.title == "Confirm it’s you", f"no question: {page.title}")
    page = person.use(page, stranger.passkey.get(person.options(page)))
    require(page.title == "Confirm it’s you" and page.status == 401, f"another account's passkey: {page.status} {page.title}")
    page = person.use(page)
    require(page.title == "Security" and not page.has("unlock"), f"not proved: {page.title}")
    return "asked after a second; the passkey of another account is refused, the own one counts"


# Notes the signals of a page, also in browsers without them.
NOTED = """
if (window.PublicKeyCredential) for (const name of ["signalUnknownCredential", "signalAllAcceptedCredentials", "signalCurrentUserDetails"])
  PublicKeyCredential[name] = async (details) => sessionStorage.setItem(name, JSON.stringify(details));
"""
WITH_OFFERS = """
if (window.PublicKeyCredential) {
  PublicKeyCredential.isConditionalMediationAvailable = async () => true;
  const get = navigator.credentials.get.bind(navigator.credentials);
  navigator.credentials.get = (options) => {
    sessionStorage.setItem("mediation", options.mediation ?? "");
    return get(options);
  };
}
"""


def chromium():
    """Chromium's virtual authenticator: adds a passkey on the page, not twice, and signs in with it; without user verification it does not."""
    here = site()
    with Chromium(here.issuer) as browser:
        browser.command("Page.addScriptToEvaluateOnNewDocument", source=NOTED)

        def noted(name):
            return browser.script("return sessionStorage.getItem(arguments[0])", name)

        def signals(name):
            return json.loads(until(lambda: noted(name), "no " + name, 10))

        def sign_out():
            browser.open("/account")
            browser.press("button[value=sign-out]")
            browser.at("/oauth/logout")
            browser.open("/sign-in")

        browser.open("/sign-in?next=/account/security")
        browser.submit("sign-in", email=EMAIL, password=PASSWORD)
        browser.sees("No passkeys yet.")
        browser.press("[data-passkey=create]:enabled")
        browser.sees("You can now sign in with your passkey.")
        browser.press("[data-passkey=create]:enabled")
        browser.sees("This device already has a passkey for your account.")
        accepted = signals("signalAllAcceptedCredentials")
        require(accepted["rpId"] == "localhost" and len(accepted["allAcceptedCredentialIds"]) == 1, f"signals: {accepted}")
        require(signals("signalCurrentUserDetails")["name"] == EMAIL, "another name is signalled")
        sign_out()
        browser.press("[data-passkey=get]:enabled")
        browser.at("/account")
        sign_out()
        offers = browser.command("Page.addScriptToEvaluateOnNewDocument", source=WITH_OFFERS)["identifier"]
        browser.open("/sign-in")
        until(lambda: "/account" in browser.driver.current_url or noted("mediation") == "conditional", "no offer at the field for the address", 10)
        browser.command("Page.removeScriptToEvaluateOnNewDocument", identifier=offers)
        browser.open("/account")
        if "/sign-in" in browser.driver.current_url:
            browser.press("[data-passkey=get]:enabled")
            browser.at("/account")
        sign_out()
        browser.driver.set_user_verified(False)
        browser.press("[data-passkey=get]:enabled")
        browser.sees("No passkey was used.")
        browser.driver.set_user_verified(True)
        # Removed elsewhere: the device still has it.
        here.api("DELETE", "/v1/passkeys/" + here.api("GET", "/v1/passkeys")["passkeys"][0]["id"])
        browser.press("[data-passkey=get]:enabled")
        browser.sees("isn’t in use here any more")
        require(signals("signalUnknownCredential")["credentialId"] == accepted["allAcceptedCredentialIds"][0], "another passkey")
        browser.driver.remove_all_credentials()
        browser.press("[data-passkey=get]:enabled")
        browser.sees("No passkey was used.")
        # The response to a refused passkey is 401, which Chromium notes.
        errors = [entry["message"] for entry in browser.driver.get_log("browser")
                  if entry["level"] == "SEVERE" and "status of 401" not in entry["message"]]
        require(not errors, f"the console says: {errors}")
        return "added on the page, not twice; signed in by the button, offered at the address; not without user verification; signals"


def main(options):
    report = Report([app, refusals, proof, chromium], options.names)
    if words := report.unknown():
        sys.exit("passkeys: " + words)
    server.PROGRAM = build.program()
    return report.run_all()
