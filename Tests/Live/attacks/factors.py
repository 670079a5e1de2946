"""Attacks on a second factor by someone who knows the password, or reads the owner's mails, or is the owner's provider."""
import base64, hashlib, hmac, html, json, re, secrets, struct, threading, time

from attacks.person import ISSUER, PASSWORD, Person, press, signed_in, unlocks
from attacks.providers import Relying
from kit.web import Lost
from attacks.target import Browser, Client, Server, answered, authorization, bearer, install, require
from parties.hostile import Lies

NEW = "another long secret"


class App:
    """An authenticator app (RFC 6238). Each code is newer than the last one, and the server takes them up to 30 s ahead."""

    def __init__(self, secret):
        self.secret, self.step = base64.b32decode(secret + "=" * (-len(secret) % 8)), 0

    def show(self, step):
        mac = hmac.new(self.secret, struct.pack(">Q", step), hashlib.sha1).digest()
        at = mac[-1] & 15
        return f"{(struct.unpack('>I', mac[at:at + 4])[0] & 0x7FFFFFFF) % 10 ** 6:06}"

    def next(self):
        """A code that was not used."""
        while self.step >= int(time.time()) // 30 + 1:
            time.sleep(0.2)
        self.step = max(self.step + 1, int(time.time()) // 30 - 1)
        return self.show(self.step)


def protect(person):
    """Adds an authenticator app to a person's account."""
    # A code that was taken ten seconds before its end may be too old on arrival.
    if time.time() % 30 > 25:
        time.sleep(30.1 - time.time() % 30)
    page = person.press("/account/security", "add-totp")
    found = re.search(r'<code class="secret"[^>]*>([A-Z2-7 ]+)<', page.text)
    require(found, f"no authenticator app: {page}")
    app, setup = App(found[1].replace(" ", "")), re.search(r'name="setup" value="([^"]+)"', page.text)[1]
    page = person.browser.submit("/account/security", action="confirm-totp", setup=html.unescape(setup), code=app.next())
    require("your password needs a code" in page.text, f"the app is not added: {page}")
    return app


def half(server, email, password=PASSWORD, path="/sign-in"):
    """A browser in which the password was typed, and the form that asks for the code."""
    browser = Browser(server)
    browser.load("GET", path)
    page = browser.submit(path, action="sign-in", email=email, password=password)
    proof = re.search(r'name="proof" value="([^"]+)"', page.text)
    require(proof, f"no code is asked for: {page.status} {page['Location']}")
    return browser, html.unescape(proof[1])


def enter(browser, proof, typed, path="/sign-in"):
    return browser.submit(path, action="second-factor", proof=proof, code=typed)


def replayed_codes():
    """Uses codes of an authenticator app again: the same one, older ones, at each door, and many times at once; and types codes of other
    forms."""
    server = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER, administered=True)
    person = Person(server, "owner")
    app, tried = protect(person), 0
    first = app.show(app.step)

    def sign_in(code, device):
        return Client(server).post("/v1/sign-in", dict(email=person.email, password=PASSWORD, code=code, device=install(device)))

    def prove(code):
        return Client(server).post("/v1/reauthenticate", dict(password=PASSWORD, code=code), Authorization=bearer(person.session))

    def session(code):
        return Client(server).post("/v1/session", dict(email=person.email, password=PASSWORD, code=code), Origin=ISSUER)

    def page(code):
        browser, proof = half(server, person.email)
        answer = enter(browser, proof, code)
        require(signed_in(browser) == (answer.status == 303), f"the page: {answer}")
        return answer

    doors = {"sign-in": lambda code: sign_in(code, "d-" + secrets.token_hex(4)), "proof": prove, "cookie": session, "page": page}

    def refused(code, what):
        nonlocal tried
        for name, door in doors.items():
            answer = door(code)
            require(answer.status in (400, 401, 403), f"{what} at {name}: {answer}")
            tried += 1

    right, results = app.next(), []

    def send(door):
        try:
            results.append(door(right).status)
        except Lost as failure:
            results.append(str(failure))

    # Typed once, sent by many at once, to all doors.
    threads = [threading.Thread(target=send, args=(door,)) for door in [*doors.values()] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    good = [status for status in results if status in (200, 303)]
    require(len(good) == 1 and set(results) <= {200, 303, 401, 403}, f"a code counts {len(good)} times: {results}")
    # One that counts starts over the count of those that do not.
    answer = sign_in(app.next(), "d-own")
    require(answer.status == 200, f"the owner: {answer}")
    refused(first, "the code of the set-up")
    refused(right, "a code that was used")
    # Right ones of the steps beside those that count.
    for distance in (-10, 10):
        answer = sign_in(app.show(int(time.time()) // 30 + distance), "d-clock")
        require(answer.status == 401, f"a code {distance * 30} s away: {answer}")
    server.stop()
    return f"{tried} replays refused at {len(doors)} doors; of 8 at once, 1 counts"


def guessed_codes():
    """Guesses codes with the right password, many at once, at each door, from many addresses and devices, and with a new password: the
    guesses are limited together, and the owner signs in on a known device."""
    server = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER, administered=True)
    person = Person(server, "owner")
    app, statuses, lock = protect(person), [], threading.Lock()
    known = person.client.post("/v1/sign-in", dict(email=person.email, password=PASSWORD, code=app.next(), device=install("d-owner")))
    require(known.status == 200 and person.client.get("/v1/me", Authorization=bearer(known.json)).status == 200, f"the owner: {known}")
    wrong = [f"{number:06}" for number in range(1000) if f"{number:06}" not in {app.show(int(time.time()) // 30 + step) for step in range(-2, 20)}]

    def guess(number):
        client = Client(server, f"127.0.{20 + number}.1")
        browser, proof = half(server, person.email)
        for turn in range(8):
            typed = wrong[number * 8 + turn]
            if (number + turn) % 3 == 0:
                answer = client.post("/v1/session", dict(email=person.email, password=PASSWORD, code=typed), Origin=ISSUER)
            elif (number + turn) % 3 == 1:
                answer = enter(browser, proof, typed)
            else:
                answer = client.post("/v1/sign-in", dict(email=person.email, password=PASSWORD, code=typed, device=install("d-" + secrets.token_hex(4))))
            with lock:
                statuses.append(answer.status)

    threads = [threading.Thread(target=guess, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    require(set(statuses) == {401, 429}, f"guesses: {set(statuses)}")
    checked = statuses.count(401)
    require(checked <= 10, f"{checked} of {len(statuses)} guesses were checked")
    thief, right = Client(server, "127.0.60.1"), app.next()
    answer = thief.post("/v1/sign-in", dict(email=person.email, password=PASSWORD, code=right, device=install("d-thief")))
    require(answer.status == 429, f"the right code after the limit: {answer}")
    answer = person.client.post("/v1/sign-in", dict(email=person.email, password=PASSWORD, code=right, device=install("d-owner")))
    require(answer.status == 200, f"the owner on a known device: {answer}")
    # With a new password, the limit stays.
    reset = server.command("accounts", "reset", person.email)["reset"]["code"]
    answer = person.client.post("/v1/password-reset/confirm", dict(token=reset, new_password=NEW))
    require(answer.status == 204, f"no reset: {answer}")
    answer = thief.post("/v1/sign-in", dict(email=person.email, password=NEW, code="000000", device=install("d-thief")))
    require(answer.status == 429, f"a guess with a new password: {answer}")
    server.stop()
    return f"{checked} of {len(statuses)} guesses were checked; the owner signs in on a known device"


def skipped_factor():
    """Signs in without the code of the authenticator app: by each page and route that takes a password, a reset by mail, an account elsewhere
    with the owner's address, a recovery code, another person's form, and ways that add one of one's own; and changes the account so."""
    lies = Lies("work")
    work = lies["work"]
    server = Relying(lies.entries(trustsEmail=True), "--rate-limits", "none", "--issuer", ISSUER, administered=True)
    person, eve, tried = Person(server, "owner", proved=True), Person(server, "eve"), []
    client = person.client
    key, codes, guest = person.add_passkey(), person.recovery_codes(), Client(server).guest("d-thief")
    app = protect(person)

    def asks(name, answer, *codes):
        require(answer.status in (401, 403) and answer.error in (codes or ("second_factor_required",)), f"{name}: {answer}")
        tried.append(name)

    def stays_out(name, browser):
        require(not signed_in(browser), f"{name}: signed in")
        tried.append(name)

    def without(password, when):
        thief = Client(server, "127.0.30.1")
        whole = dict(email=person.email, password=password, device=install("d-thief"))
        for more in ({}, dict(code=""), dict(code=" "), dict(code="000000"), dict(code=codes[0])):
            answer = thief.post("/v1/sign-in", dict(whole, **more))
            # Guesses are limited.
            require(answer.status in (401, 429) and answer.error in ("second_factor_required", "second_factor_wrong", "rate_limited"),
                    f"sign-in {more} {when}: {answer}")
            tried.append("sign-in")
        for more in (dict(code=None), dict(code=0), dict(code=["000000"]), dict(code={}), dict(totp="000000", second_factor=True, mfa=False)):
            answer = thief.post("/v1/sign-in", dict(whole, **more))
            require(answer.status in (400, 401, 429), f"sign-in {more} {when}: {answer}")
            tried.append(f"sign-in {more}")
        asks(f"cookie {when}", thief.post("/v1/session", dict(email=person.email, password=password), Origin=ISSUER))
        answer = thief.post("/v1/upgrade", dict(whole, username="Eve"), Authorization=bearer(guest))
        require(answer.status in (400, 401, 403, 409) and "access_token" not in answer.json, f"upgrade {when}: {answer}")
        tried.append("upgrade")
        for path in ("/sign-in", authorization("web"), "/device"):
            browser, proof = half(server, person.email, password, path)
            stays_out(f"{path} {when}", browser)
            silent = answered(browser.load("GET", authorization("web", ("prompt", "none"))))
            require("code" not in silent, f"an app gets a code: {silent}")
            for typed in ("", codes[0], PASSWORD):
                enter(browser, proof, typed, path)
                stays_out(f"{path} with {typed!r} {when}", browser)
            for action in ("allow", "look", "unlock", "change-password", "remove-totp"):
                browser.submit(path, action=action, proof=proof)
            stays_out(f"{path}, other buttons {when}", browser)

    without(PASSWORD, "with the password")
    # A session in which the password was shown, with the password; and a recovery code alone.
    for method, path, fields in (("POST", "/v1/password", dict(current=PASSWORD, new=NEW, end_others=True)),
                                 ("DELETE", "/v1/me", dict(password=PASSWORD)), ("POST", "/v1/passkeys/options", {}),
                                 ("DELETE", "/v1/passkeys/x", {})):
        answer = client.request(method, path, json.dumps(fields), {
            "Authorization": bearer(person.session), "Content-Type": "application/json"})
        asks(f"{method} {path}", answer, "second_factor_required", "reauthentication_required")
    require(not person.recovers(codes[1]), "a recovery code alone signs in")
    # A form of another person, in the thief's browser, with the thief's own code, and forged.
    other = protect(eve)
    browser, proof = half(server, eve.email)
    _, owners = half(server, person.email)
    for name, forged in {"the owner's in another browser": owners, "nothing": "", "dots": "..", "the first part": proof.split(".")[0],
                         "longer": proof + "A", "mixed": ".".join(owners.split(".")[:1] + proof.split(".")[1:])}.items():
        enter(browser, forged, other.next() if name.startswith("the owner") else "000000")
        stays_out(f"a form: {name}", browser)
    # A reader of the owner's mails sets a password, and has no more than that. The address is confirmed by it.
    client.post("/v1/password-reset", dict(email=person.email))
    answer = Client(server).post("/v1/password-reset/confirm", dict(token=server.code(person.email), new_password=NEW))
    require(answer.status == 204 and not answer.body, f"a reset by mail: {answer}")
    without(NEW, "with a mailed password")
    token = server.command("accounts", "reset", person.email)["reset"]["code"]
    browser = Browser(server)
    page = press(browser, "/reset-password?token=" + token, "reset", token=token, new_password=NEW)
    stays_out(f"the page of a reset ({page.status})", browser)
    require(not unlocks(client, key), "a passkey outlives a reset by mail")
    require(not person.recovers(codes[0]), "a recovery code outlives a reset by mail")
    answer = Client(server).post("/v1/sign-up", dict(email=person.email, password=NEW, username="Eve", device=install("d-thief")))
    require("access_token" not in answer.json, f"sign-up: {answer}")
    # A provider that the operator trusts with addresses.
    browser = Browser(server)
    page = work.sign_in(browser, sub="thief", email=person.email, email_verified=True, amr=["mfa"], acr="mfa", auth_time=int(time.time()))
    stays_out(f"an account elsewhere ({page.status})", browser)
    nonce = "n" * 32
    answer = Client(server).post("/v1/sign-in/provider", dict(provider="work", nonce=nonce, device=install("d-thief"), id_token=work.sign(
        work.claims(dict(nonce=nonce), sub="thief", email=person.email, email_verified=True))))
    require(answer.status in (401, 403, 409) and "access_token" not in answer.json, f"an ID token: {answer}")
    tried.append("an ID token")
    facts = person.credentials()
    require(not facts["passkeys"] and server.administer("GET", f"/accounts/{person.id}/sessions").json.get("sessions", []) == [],
            f"a session or a passkey is there: {facts}")
    # The control.
    browser, proof = half(server, eve.email)
    require(enter(browser, proof, other.next()).status == 303 and signed_in(browser), "the code of an app does not sign in")
    lies.close()
    server.stop()
    return f"{len(tried)} ways without the code; with it, a person signs in"


ATTACKS = [replayed_codes, guessed_codes, skipped_factor]
