"""Proves passkeys with authenticators of others.

Starts the server at localhost. A software authenticator on PyPI's fido2 answers with ES256 and RS256, rightly and wrongly; Chromium's virtual
authenticator does on the pages. Prints a line for each case."""
import json, os, sys, time

from kit import build, server
from kit.pypi import interpreter
from kit.report import Report
from kit.web import Lost, Person, require, until
from parties.provider import EMAIL, PASSWORD, Provider

NEEDS = ["--tests"]
# With the system's packages: the browser driver is Debian's.
FIDO2 = "fido2", "fido2==2.2.1", "--system-site-packages"


def options(parser):
    parser.add_argument("names", nargs="*", help="only these")


def provider(*flags):
    """A server with the account of Ada. Addresses such as 127.0.0.1 have no passkeys."""
    server = Provider()
    server.issuer = f"http://localhost:{server.port}"
    with open(server.clients, "w") as file:
        file.write("[]")
    server.start("--issuer", server.issuer, "--mail-folder", server.folder + "/mails", *flags)
    return server


class Visitor(Person):
    """A person whose browser has an authenticator."""

    def __init__(self, server, authenticator=None):
        from parties.softauthn import Authenticator
        super().__init__(EMAIL, PASSWORD)
        self.server, self.authenticator = server, authenticator or Authenticator()

    def options(self, page, path):
        answer = self.load("POST", self.server.issuer + path, headers={"X-CSRF-Token": page.hidden()["csrf"]})
        require(answer.status == 200, f"no options: {answer.status} {answer.text[:200]}")
        return json.loads(answer.text)

    def page(self, path):
        return self.open(self.server.issuer + path)

    def signed_in(self):
        page = self.page("/sign-in")
        return self.submit(page, "sign-in", email=self.email, password=self.password)

    def add(self, **choices):
        page = self.page("/account/security")
        answer = self.authenticator.create(self.options(page, "/account/passkey/options"), self.server.issuer, **choices)
        return self.submit(page, "add-passkey", passkey=json.dumps(answer))

    def answer(self, sheet, **choices):
        return json.dumps(self.authenticator.get(self.options(sheet, "/passkey/options"), self.server.issuer, **choices))

    def use(self, **choices):
        page = self.page("/sign-in")
        return self.submit(page, "passkey", passkey=self.answer(page, **choices))


def has(page, words):
    require(words in page.text, f"“{words}” is missing on {page.title} ({page.status}): {page.text[:3000]}")


def software(name):
    """Registers a passkey, signs in with it on the page and in an app, and removes it."""
    from parties.softauthn import ALGORITHMS
    server = provider()
    person = Visitor(server)
    person.signed_in()
    has(person.add(alg=ALGORITHMS[name]), "You can now sign in with your passkey.")
    browser = Visitor(server, person.authenticator)
    page = browser.use()
    require(page.title == "Profile" or "/account" in page.url, f"not signed in: {browser.seen}")
    device = dict(id="d-2", name="Tablet", platform="ios")
    options = server.api("POST", "/v1/sign-in/passkey/options")
    answer = json.dumps(person.authenticator.get(options, server.issuer))
    session = server.api("POST", "/v1/sign-in/passkey", dict(passkey=answer, device=device))
    require(session["token_type"] == "Bearer" and session["refresh_token"], "no session for the app")
    refused(lambda: server.api("POST", "/v1/sign-in/passkey", dict(passkey=answer, device=device)), "passkey_expired")
    proof = json.dumps(person.authenticator.get(server.api("POST", "/v1/sign-in/passkey/options"), server.issuer))
    require("access_token" in server.api("POST", "/v1/reauthenticate", dict(passkey=proof)), "no proof")
    page = person.page("/account/security")
    id = page.text.split('name="passkey_id" value="')[1].split('"')[0]
    has(person.submit(page, "remove-passkey", passkey_id=id), "The passkey is removed.")
    has(browser.use(), "isn’t in use here any more")
    return "registered, signed in on a page and in an app, proved the owner, removed"


def app():
    """An app adds a passkey with its access token, signs in with it, and removes it; each response is the list that is left."""
    from parties.softauthn import Authenticator, Refused
    server = provider()
    device, other = Authenticator(), Authenticator()
    require(server.api("GET", "/v1/passkeys")["passkeys"] == [], "an account with passkeys")
    options = server.api("POST", "/v1/passkeys/options")
    made = json.dumps(device.create(options, server.issuer))
    known = server.api("POST", "/v1/passkeys", dict(passkey=made))
    id = known["passkeys"][0]["id"]
    require(known["rp_id"] == "localhost" and id == device.passkeys[0]["id"], f"another list: {known}")
    require(known["user_handle"] == device.passkeys[0]["userHandle"], "another user handle than the device's")
    refused(lambda: server.api("POST", "/v1/passkeys", dict(passkey=made)), "passkey_expired")
    again = server.api("POST", "/v1/passkeys/options")
    require([entry["id"] for entry in again["excludeCredentials"]] == [id], "the device may make a second one")
    try:
        device.create(again, server.issuer)
        raise Lost("the device has made a second one")
    except Refused:
        pass
    unchecked = json.dumps(other.create(again, server.issuer, uv=False))
    refused(lambda: server.api("POST", "/v1/passkeys", dict(passkey=unchecked)), "passkey_unverified")
    elsewhere = Visitor(server)
    elsewhere.signed_in()
    theirs = elsewhere.options(elsewhere.page("/account/security"), "/account/passkey/options")
    stolen = json.dumps(other.create(theirs, server.issuer))
    refused(lambda: server.api("POST", "/v1/passkeys", dict(passkey=stolen)), "passkey_expired")
    answer = json.dumps(device.get(server.api("POST", "/v1/sign-in/passkey/options"), server.issuer))
    tablet = dict(id="d-3", name="Tablet", platform="ios")
    require("refresh_token" in server.api("POST", "/v1/sign-in/passkey", dict(passkey=answer, device=tablet)), "no session")
    require(server.api("DELETE", "/v1/passkeys/" + id)["passkeys"] == [], "the passkey is still there")
    answer = json.dumps(device.get(server.api("POST", "/v1/sign-in/passkey/options"), server.issuer))
    refused(lambda: server.api("POST", "/v1/sign-in/passkey", dict(passkey=answer, device=tablet)), "passkey_unknown")
    return "added, once; without a check, or with another session's options, not; signed in, removed, unknown then"


def refused(work, code):
    try:
        work()
    except Lost as error:
        require(code in str(error), f"another refusal: {error}")
    else:
        raise Lost("it was not refused: " + code)


def es256():
    return software("ES256")


def rs256():
    return software("RS256")


def refusals():
    """Answers that are wrong in one point each."""
    server = provider()
    person = Visitor(server)
    person.signed_in()
    person.add()
    origin, cases = server.issuer, []

    def wrong(words, page):
        require(page.title.startswith("Sign in") and page.status == 401, f"{words}: {page.status} {page.title}")
        cases.append(words)

    guest = Visitor(server, person.authenticator)
    page = guest.use(uv=False)
    wrong("no user verification", page)
    has(page, "didn’t check that it’s you")
    wrong("another origin", guest.use(page="https://evil.example"))
    wrong("a port more", guest.use(page=origin + "1"))
    page = guest.page("/sign-in")
    answer = json.loads(guest.answer(page))
    answer["response"]["signature"] = answer["response"]["signature"][:-8] + "AAAAAAAA"
    wrong("a wrong signature", guest.submit(page, "passkey", passkey=json.dumps(answer)))
    other = Visitor(server, person.authenticator)
    theirs = other.answer(other.page("/sign-in"))
    wrong("a challenge of another browser", guest.submit(guest.page("/sign-in"), "passkey", passkey=theirs))
    page = guest.page("/sign-in")
    answer = guest.answer(page)
    copy = Visitor(server)
    copy.cookies = {host: dict(jar) for host, jar in guest.cookies.items()}
    require(guest.submit(page, "passkey", passkey=answer).status == 200, "the right answer is refused")
    wrong("the same answer again", copy.submit(page, "passkey", passkey=answer))
    again = Visitor(server, person.authenticator)
    counter = person.authenticator.passkeys[0]["counter"]
    wrong("a counter that stands still", again.use(counter=counter))
    wrong("a counter of an older copy", again.use(counter=1))
    require(again.use(counter=counter + 5).status == 200, "the next right answer is refused")
    for text in ["{}", "[", '{"type":"public-key"}', "A" * 9000]:
        fresh = Visitor(server)
        page = fresh.page("/sign-in")
        wrong(f"{text[:20]!r}", fresh.submit(page, "passkey", passkey=text))
    page = person.page("/account/security")
    made = person.authenticator.create(
        {**person.options(page, "/account/passkey/options"), "excludeCredentials": []}, origin, uv=False)
    page = person.submit(page, "add-passkey", passkey=json.dumps(made))
    has(page, "didn’t check that it’s you")
    cases.append("registration without user verification")
    return f"{len(cases)} wrong answers refused: " + ", ".join(cases[:8]) + " …"


def only_factor():
    """Without a password: the passkey is the only way in, and cannot be removed; a recovery code and a mailed link are ways back."""
    server = provider()
    person = Visitor(server)
    person.signed_in()
    person.add()
    page = person.page("/account/security")
    has(person.submit(page, "remove-password"), "Your password is removed.")
    guest = Visitor(server, person.authenticator)
    page = guest.signed_in()
    require(page.status in (200, 401) and "/account" not in page.url, "the removed password signs in")
    page = person.page("/account/security")
    id = page.text.split('name="passkey_id" value="')[1].split('"')[0]
    has(person.submit(page, "remove-passkey", passkey_id=id), "your only way to sign in")
    page = person.submit(person.page("/account/security"), "make-codes")
    codes = [part.split("</code>")[0] for part in page.text.split("<code>")[1:]]
    require(len(codes) == 10 and len(set(codes)) == 10, f"codes: {codes}")
    lost = Visitor(server)
    page = lost.submit(lost.page("/recover"), "recover", email=EMAIL, recovery_code=codes[3].upper().replace("-", " "))
    require(page.title == "Security", f"the recovery code does not sign in: {lost.seen} {page.text[:2000]}")
    has(page, "9 unused codes left")
    again = Visitor(server)
    page = again.submit(again.page("/recover"), "recover", email=EMAIL, recovery_code=codes[3])
    has(page, "The address or the code is wrong")
    page = again.submit(again.page("/forgot-password"), "send", email=EMAIL)
    mail = waiting_mail(server, "/reset-password?token=")
    page = again.open(mail)
    page = again.submit(page, "reset", new_password="another long secret of Ada's")
    require("Sign in" in page.text and page.status == 200, f"no reset: {page.status} {page.text[:500]}")
    again.password = "another long secret of Ada's"
    require("/account" in again.signed_in().url, "the new password does not sign in")
    return "no password, passkey alone; back by a recovery code, which works once, and by a mailed link"


def proof():
    """A session that is older than the proof lasts: the passkey proves the owner again, another one does not."""
    server = provider("--reauthenticate-after", "1s")
    person, stranger = Visitor(server), Visitor(server)
    stranger.email = "eve@example.org"
    page = stranger.page("/sign-up")
    stranger.submit(page, "sign-up", name="Eve", email=stranger.email, new_password="a long secret of Eve's")
    stranger.add()
    person.signed_in()
    person.add()
    start = time.time()
    while not (page := person.page("/account/security")).has("unlock"):
        require(time.time() - start < 10, "the proof does not expire")
        time.sleep(0.05)
    page = person.submit(page, "unlock")
    require(page.title == "Confirm it’s you", f"no question: {page.title}")
    mine, person.authenticator = person.authenticator, stranger.authenticator
    page = person.submit(page, "passkey", passkey=person.answer(page))
    require(page.title == "Confirm it’s you" and page.status == 401, f"another account's passkey: {page.status} {page.title}")
    person.authenticator = mine
    page = person.submit(page, "passkey", passkey=person.answer(page))
    require(page.title == "Security" and not page.has("unlock"), f"not proved: {page.title}")
    return "asked after a second; the passkey of another account is refused, the own one counts"


def waiting_mail(server, part, seconds=10):
    def found():
        for name in os.listdir(server.folder + "/mails"):
            text = open(f"{server.folder}/mails/{name}").read().replace("=\n", "").replace("=3D", "=")
            for line in text.split("\n"):
                if part in line:
                    return line.strip()
    return until(found, "no mail with " + part, seconds)


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
    server = provider()
    from kit.chromium import Chromium
    with Chromium(server.issuer) as browser:
        browser.command("Page.addScriptToEvaluateOnNewDocument", source=NOTED)

        def signals(name):
            return json.loads(until(
                lambda: browser.driver.execute_script(f"return sessionStorage.getItem('{name}')"), "no " + name, 10))

        def sign_out():
            browser.open("/account")
            browser.press("button[value=sign-out]")
            browser.at("/oauth/logout")
            browser.open("/sign-in")

        browser.open("/sign-in?next=/account/security")
        browser.fill("email", EMAIL)
        browser.fill("password", PASSWORD)
        browser.press("button[value=sign-in]")
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
        until(lambda: "/account" in browser.driver.current_url or browser.driver.execute_script(
            "return sessionStorage.getItem('mediation')") == "conditional", "no offer at the field for the address", 10)
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
        server.api("DELETE", "/v1/passkeys/" + server.api("GET", "/v1/passkeys")["passkeys"][0]["id"])
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
    python = interpreter(*FIDO2)
    if sys.prefix != os.path.dirname(os.path.dirname(python)):
        os.execv(python, [python, *sys.argv])
    report = Report([es256, rs256, app, refusals, only_factor, proof, chromium], options.names)
    if words := report.unknown():
        sys.exit("passkeys: " + words)
    server.PROGRAM = build.program()
    return report.run_all()
