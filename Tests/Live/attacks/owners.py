"""Attacks on what belongs to an account's owner: by strangers who had it for a while, who want to be its owner, or who sign up where that
is closed."""
import base64, json, re, signal, sqlite3, threading, time

from attacks.person import ISSUER, PASSWORD, Person, press, signed_in, unlocks
from attacks.target import (
    API, CHALLENGE, CLIENTS, REDIRECTS, SECRETS, VERIFIER, Browser, Client, Server, answered, authorization, basic, bearer, code, install, redeem,
    require)

NEW = "another long secret"


def closed_doors():
    """Gets an account while sign-up is closed: at the API, on the pages, as a guest, and by codes that were mailed before."""
    server = Server("--sign-up", "confirmed", "--rate-limits", "none")
    client, browser, tried = Client(server), Browser(server), 0
    device, guest = dict(device=install("d-new")), bearer(client.guest())
    for path, name, headers in (("/v1/sign-up", "early1", {}), ("/v1/sign-up", "early2", {}), ("/v1/upgrade", "early3", dict(Authorization=guest))):
        answer = client.post(path, dict(device, email=name + "@example.org", password=PASSWORD, username="Eve"), **headers)
        require(answer.status == 202, f"{path}: {answer.status} {answer.text}")
    early = [server.code(f"early{number}@example.org") for number in (1, 2, 3)]
    server.stop()
    server.start("--sign-up", "closed", "--rate-limits", "none")
    before, full = server.command("stats"), dict(device, email="late@example.org", password=PASSWORD, username="Eve")
    client = Client(server)
    for path, fields, headers in [
        ("/v1/sign-up", full, {}), ("/v1/sign-in/anonymous", device, {}), ("/v1/upgrade", full, dict(Authorization=guest)),
    ] + [("/v1/sign-up/confirm", dict(device, token=token, password=PASSWORD), {}) for token in early]:
        answer = client.post(path, fields, **headers)
        require(answer.status == 403 and answer.error == "sign_up_closed", f"{path}: {answer.status} {answer.text}")
        tried += 1
    browser = Browser(server)
    forms = [("/sign-up", dict(name="Eve", email="late@example.org", new_password=PASSWORD), ("sign-up",)),
             ("/sign-up/confirm", dict(email="late@example.org"), ("send",))]
    forms += [("/sign-up/confirm", dict(token=token, new_password=PASSWORD), ("confirm",)) for token in early]
    for path, fields, actions in forms:
        for button in ("action", "main"):
            browser.load("GET", "/sign-in")
            page = browser.submit(path, **{button: actions[0]}, **fields)
            require(page.status in (403, 404) and not page["Location"], f"{path} {actions[0]}: {page.status} {page['Location']}")
            tried += 1
    for path in ["/sign-up", *("/sign-up/confirm?token=" + token for token in early)]:
        page = browser.load("GET", path)
        require(page.status in (403, 404) and "new_password" not in page.text, f"{path}: {page.status}")
        tried += 1
    # The control: an administrator may, and by then a mail to someone else would have come, too.
    invited = server.command("accounts", "create", "invited@example.org")
    answer = client.post("/v1/password-reset/confirm", dict(token=invited["reset"]["code"], new_password=PASSWORD))
    require(answer.status == 204, f"the invited person cannot set a password: {answer.status} {answer.text}")
    client.post("/v1/password-reset", dict(email="invited@example.org"))
    server.code("invited@example.org")
    after = server.command("stats")
    require(after["accounts"] == before["accounts"] + 1, f"{after['accounts'] - before['accounts']} new accounts instead of the invited one")
    require(not any("late@example.org" in mail for mail in server.mails()), "a code was mailed")
    return f"{tried} ways refused; an administrator can invite"


def waiting_address():
    """Asks for a change of the address in the owner's browser, and follows the mailed link after the owner has taken the account back, in
    each way that there is."""
    server, accounts = Server("--sign-up", "open", "--rate-limits", "none", administered=True), {}

    def reset(token, **more):
        answer = Client(server).post("/v1/password-reset/confirm", dict(token=token, new_password=NEW, **more))
        require(answer.status == 204, f"no reset: {answer.status} {answer.text}")

    def mailed(person):
        return server.code(person.email)

    def page_reset(person):
        page = press(Browser(server), "/reset-password?token=" + mailed(person), "reset", token=mailed(person), new_password=NEW,
                     keep_passkeys="yes")
        require(page.status == 200, f"no reset: {page.status}")

    def disable(person, work):
        work("disable", person)
        work("enable", person)

    def command(name, person):
        server.command("accounts", name, person.email)

    def request(name, person):
        answer = server.administer("POST", f"/accounts/{person.id}/{name}", {})
        require(answer.status < 300, f"{name}: {answer.status} {answer.text}")

    def api(method, path, fields=None):
        def work(person):
            answer = person.client.request(method, path, fields and json.dumps(fields), {
                "Authorization": bearer(person.session), "Content-Type": "application/json"})
            require(answer.status < 300, f"{method} {path}: {answer.status} {answer.text}")
        return work

    # Each with the password that the account has afterwards; none if it has none.
    ways = {
        "password": (api("POST", "/v1/password", dict(current=PASSWORD, new=NEW, end_others=True)), NEW),
        "password-alone": (api("POST", "/v1/password", dict(current=PASSWORD, new=NEW, end_others=False)), NEW),
        "password-page": (lambda person: person.press("/account/security", "change-password", current_password=PASSWORD, new_password=NEW), NEW),
        "reset": (lambda person: reset(mailed(person)), NEW),
        "reset-keeping": (lambda person: reset(mailed(person), keep_passkeys=True), NEW),
        "reset-page": (page_reset, NEW),
        "end-others": (api("POST", "/v1/sessions/end-others"), PASSWORD),
        "end-all": (api("DELETE", "/v1/sessions"), PASSWORD),
        "end-page": (lambda person: person.press("/account/devices/end", "end-others"), PASSWORD),
        "cancel": (lambda person: person.press("/account/email", "cancel"), PASSWORD),
        "another": (lambda person: person.press("/account/email", "change", new_email=f"new-{person.email}"), PASSWORD),
        "admin-reset": (lambda person: reset(server.command("accounts", "reset", person.email)["reset"]["code"]), NEW),
        "admin-end": (lambda person: server.command("sessions", "end", "--account", person.email), PASSWORD),
        "admin-end-http": (lambda person: server.administer("DELETE", f"/accounts/{person.id}/sessions"), PASSWORD),
        "take-back": (lambda person: command("take-back", person), None),
        "take-back-http": (lambda person: request("take-back", person), None),
        "disable": (lambda person: disable(person, command), PASSWORD),
        "disable-http": (lambda person: disable(person, request), PASSWORD),
        "everyone": (lambda person: server.command("sessions", "end", "--everyone"), PASSWORD),
    }
    for name in ways:
        person = accounts[name] = Person(server, name)
        page = person.press("/account/email", "change", new_email=f"thief-{name}@example.com")
        require(page.status == 303, f"the change is refused: {page.status} {page.text}")
        if name.startswith("reset"):
            person.client.post("/v1/password-reset", dict(email=person.email))
    codes = {name: server.code(f"thief-{name}@example.com") for name in ways}
    for name, (work, password) in ways.items():
        person, path = accounts[name], "/account/email/confirm"
        thief = person.browser
        if name == "end-page":
            # The owner is in another browser.
            person.browser = person.visit()
        work(person)
        browsers = [thief] + ([person.visit(password)] if password else [])
        for browser in browsers:
            press(browser, f"{path}?token={codes[name]}", "use", token=codes[name])
        facts = person.facts()
        require(facts["email"] == person.email, f"after {name}, the thief's link moved the account to {facts['email']}")
        waits = person.credentials().get("pending_email")
        require(not waits or waits == "new-" + person.email, f"after {name}, the change to {waits} waits")
    # The control: without any of that, the link moves it.
    person = Person(server, "control")
    person.press("/account/email", "change", new_email="mine@example.com")
    token = server.code("mine@example.com")
    press(person.browser, "/account/email/confirm?token=" + token, "use", token=token)
    require(person.facts()["email"] == "mine@example.com", "the owner cannot change the address")
    return f"void in {len(ways)} ways; the owner's own works"


WIKI = dict(CLIENTS[0], scopes=["openid", "profile", "email", "offline_access"], audiences=[API, "https://files.example.org"])


def claimed(server, person, password=PASSWORD):
    """The address of an account and whether it counts as confirmed, as a client is told."""
    client, browser = Client(server), Browser(server)
    session = redeem(client, "web", code(browser, "web", person.email, password, ("scope", "openid email"))).json
    info = client.get("/oauth/userinfo", Authorization=bearer(session)).json
    return info["email"], info["email_verified"]


def strange_address():
    """Has an account of the attacker's count as the victim's address: the victim follows the link in the mail, also in a browser that is
    signed in to another account, and a mail program opens it; or nothing is mailed at all."""
    server = Server("--sign-up", "open", "--rate-limits", "none", clients=[WIKI, CLIENTS[1], CLIENTS[2]], administered=True)
    attacker, other, tried = Person(server, "attacker"), Person(server, "other"), 0
    attacker.press("/account/email", "change", new_email="victim@example.com")
    token = server.code("victim@example.com")
    path = "/account/email/confirm"
    link = re.search(r"https?://\S*/account/email/confirm\?token=\S+", "".join(server.mails()).replace("=\r\n", "").replace("=\n", ""))
    require(link, "the mail has no link")
    for browser in (Browser(server), other.browser, other.visit()):
        for method in ("GET", "HEAD"):
            browser.load(method, f"{path}?token={token}")
        browser.load("GET", "/sign-in" if not signed_in(browser) else "/account")
        for fields in (dict(action="use", token=token), dict(main="use", token=token), dict(action="use", token=token, email=attacker.email)):
            page = browser.submit(path, **fields)
            require(page.status != 200, f"a stranger's browser confirms: {page.status} {page.text}")
            tried += 1
    for method, place in (("POST", "/v1/sign-up/confirm"), ("POST", "/v1/password-reset/confirm")):
        answer = other.client.request(method, place, '{"token":"%s","password":"%s","new_password":"%s","device":{"id":"d","name":"n","platform":"p"}}' % (
            token, NEW, NEW), {"Content-Type": "application/json"})
        require(answer.status == 400, f"{place} takes the code: {answer.status}")
        tried += 1
    # Its own browser only looks.
    attacker.browser.load("GET", f"{path}?token={token}")
    for person in (attacker, other):
        require(person.facts()["email"] == person.email and "email_confirmed_at" not in person.facts(), f"{person.facts()}")
        require(claimed(server, person) == (person.email, False), f"{person.email}: {claimed(server, person)}")
    # Ways that mail nothing: the address is only typed.
    typed, given = Person(server, "typed"), Person(server, "given")
    guest = Client(server).guest("d-upgrade")
    answer = Client(server).post("/v1/upgrade", dict(email="upgraded@example.org", password=PASSWORD, username="Eve", device=install("d-upgrade")),
                                 Authorization=bearer(guest))
    require(answer.status == 200, f"upgrade: {answer.status} {answer.text}")
    upgraded = Person.__new__(Person)
    upgraded.server, upgraded.email, upgraded.client = server, "upgraded@example.org", Client(server)
    for person, words in ((typed, ("accounts", "reset", typed.email)), (given, ("accounts", "take-back", given.email, "--email", "victim2@example.com"))):
        reset = server.command(*words)["reset"]["code"]
        answer = person.client.post("/v1/password-reset/confirm", dict(token=reset, new_password=NEW))
        require(answer.status == 204, f"{words}: {answer.status} {answer.text}")
    given.email = "victim2@example.com"
    for person, password in ((typed, NEW), (given, NEW), (upgraded, PASSWORD)):
        require(claimed(server, person, password) == (person.email, False), f"{claimed(server, person, password)} though nothing was mailed")
        tried += 1
    # The control: a mailed code was read by its owner.
    typed.client.post("/v1/password-reset", dict(email=typed.email))
    typed.client.post("/v1/password-reset/confirm", dict(token=server.code(typed.email), new_password=PASSWORD))
    require(claimed(server, typed) == (typed.email, True), "a mailed code confirms nothing")
    return f"{tried} ways confirmed nothing; a code that was mailed and used does"


def taken_back():
    """Adds a passkey, recovery codes and an application to the owner's account, and uses each after the owner has taken it back; and has a
    password mailed to an account that has removed its own for good."""
    server, people = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER, administered=True), {}

    def api(person, token, **more):
        answer = person.client.post("/v1/password-reset/confirm", dict(token=token, new_password=NEW, **more))
        require(answer.status == 204, f"no reset: {answer.status} {answer.text}")

    def page(person, token):
        answer = press(Browser(server), "/reset-password?token=" + token, "reset", token=token, new_password=NEW)
        require(answer.status == 200, f"no reset: {answer.status}")

    def mailed(person):
        return server.code(person.email)

    def printed(person):
        return server.command("accounts", "reset", person.id)["reset"]["code"]

    def http(person):
        return server.administer("POST", f"/accounts/{person.id}/reset").json["code"]

    ways = {
        "api": lambda person: api(person, mailed(person)), "page": lambda person: page(person, mailed(person)),
        "printed": lambda person: api(person, printed(person)), "printed-page": lambda person: page(person, printed(person)),
        "http": lambda person: api(person, http(person)),
        "take-back": lambda person: api(person, server.command("accounts", "take-back", person.id)["reset"]["code"]),
        "take-back-http": lambda person: page(
            person, server.administer("POST", f"/accounts/{person.id}/take-back", {}).json["reset"]["code"]),
        "keeping": lambda person: api(person, mailed(person), keep_passkeys=True),
        # Signed up by a stranger, and never confirmed.
        "squatted": lambda person: api(person, mailed(person), keep_passkeys=True),
    }
    for name in ways:
        person = people[name] = Person(server, name, proved=name != "squatted")
        person.key, person.codes = person.add_passkey(), person.recovery_codes()
        person.app = redeem(person.client, "web", code(person.browser, "web", person.email, PASSWORD)).json
        person.kept = code(person.browser, "web", person.email, PASSWORD)
        if name in ("api", "page", "keeping", "squatted"):
            person.client.post("/v1/password-reset", dict(email=person.email))
    for name, work in ways.items():
        person, thief = people[name], people[name].browser
        work(person)
        require(not signed_in(thief), f"{name}: a browser is signed in")
        for session in (person.session, person.app):
            require(person.client.get("/v1/me", Authorization=bearer(session)).status == 401, f"{name}: a session lives")
        require(redeem(person.client, "web", person.kept).status == 400, f"{name}: a code of the application is good")
        require(person.opens(NEW) and not person.opens(PASSWORD), f"{name}: the passwords")
        keeps = name == "keeping"
        require(unlocks(person.client, person.key) == keeps, f"{name}: the passkey {'is gone' if keeps else 'signs in'}")
        require(person.recovers(person.codes[0]) == keeps, f"{name}: the recovery code {'is gone' if keeps else 'signs in'}")
        silent = answered(person.visit(NEW).load("GET", authorization("web", ("prompt", "none"))))
        require(("code" in silent) == keeps, f"{name}: the application {'must ask again' if keeps else 'asks for nothing'}: {silent}")
        left = person.credentials()
        require(keeps or not (left["passkeys"] or left["recovery_codes"] or left["consents"]), f"{name}: {left}")
    # A password that was removed for good: a code from before is void, and after the week of grace none is mailed.
    gone, soon, late = (Person(server, name, proved=True) for name in ("gone", "soon", "late"))
    for person in (gone, soon, late):
        person.key = person.add_passkey()
    gone.client.post("/v1/password-reset", dict(email=gone.email))
    codes = [server.code(gone.email), printed(gone)]
    for person in (gone, soon, late):
        person.press("/account/security", "remove-password")
        require(not person.facts()["has_password"], "the password cannot be removed")
    for token in codes:
        answer = gone.client.post("/v1/password-reset/confirm", dict(token=token, new_password=NEW))
        require(answer.status == 400 and not gone.facts()["has_password"], f"an earlier code sets a password again: {answer.status}")
    server.end()
    with sqlite3.connect(server.folder + "/data/registry.sqlite") as base:
        base.execute("UPDATE account SET credentials_changed_at = credentials_changed_at - 8 * 86400000 WHERE id = ?", (late.id,))
    base.close()
    server.start("--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER)
    client = Client(server)
    client.post("/v1/password-reset", dict(email=late.email))
    press(Browser(server), "/forgot-password", "send", email=late.email.upper())
    client.post("/v1/password-reset", dict(email=soon.email))
    # The control: in that week one is mailed.
    server.code(soon.email)
    mails = [mail for mail in server.mails() if late.email in mail and "hsl1." in mail]
    require(not mails, "a password was mailed to an account that had removed it for good")
    require(unlocks(client, late.key), "the owner's passkey does not sign in")
    return f"nothing left after {len(ways) - 1} ways; with keep_passkeys the owner's stay; a password removed for good stays away"


def widened_consent():
    """Asks silently for more than the user has allowed the client: another API, another scope, at each endpoint that takes them."""
    server = Server("--sign-up", "open", "--rate-limits", "none", clients=[WIKI, CLIENTS[1], CLIENTS[2]])
    person, files, tried = Person(server, "owner"), "https://files.example.org", 0
    browser, client = person.browser, person.client

    def pushed(*more):
        fields = [("response_type", "code"), ("client_id", "web"), ("redirect_uri", REDIRECTS["web"]), ("code_challenge", CHALLENGE),
                  ("code_challenge_method", "S256"), *more]
        answer = client.form("/oauth/par", fields, Authorization=basic("web"))
        require(answer.status == 201, f"par: {answer.status} {answer.text}")
        return f"/oauth/authorize?client_id=web&request_uri={answer.json['request_uri']}"

    def refused(*more):
        nonlocal tried
        for address in (authorization("web", *more), pushed(*more)):
            page = browser.load("GET", address)
            require("code" not in answered(page) and page.status == 200, f"no question for {more}: {page.status} {page['Location']}")
        for address in (authorization("web", *more, ("prompt", "none")), pushed(*more, ("prompt", "none"))):
            given = answered(browser.load("GET", address))
            require(given.get("error") == "consent_required" and "code" not in given, f"prompt=none {more}: {given}")
        tried += 4

    profile, email, whole = ("scope", "profile"), ("scope", "email"), ("scope", "profile email")
    refused(profile, ("resource", API))
    mine = redeem(client, "web", code(browser, "web", person.email, PASSWORD, profile, ("resource", API))).json
    silent = answered(browser.load("GET", authorization("web", profile, ("resource", API))))
    require("code" in silent, f"it is asked for again: {silent}")
    for more in ((profile,), (profile, ("resource", files)), (whole, ("resource", API)), (email, ("resource", API)), (whole,),
                 (("scope", "profile openid"), ("resource", API)), (("scope", "profile offline_access"), ("resource", API))):
        refused(*more)
    # Without a resource, the user is asked for all that the client may name later.
    page = browser.load("GET", authorization("web", profile))
    require(API in page.text and files in page.text, "the question names not every API")
    # At the token endpoint: beyond what the code or the session is for.
    for more, error in ((dict(resource=files), "invalid_target"), (dict(resource="https://evil.example.org"), "invalid_target"),
                        (dict(scope="profile email"), "invalid_scope"), (dict(scope="openid"), "invalid_scope")):
        answer = client.form("/oauth/token", dict(grant_type="refresh_token", refresh_token=mine["refresh_token"], rotation_key="A" * 22, **more),
                             Authorization=basic("web"))
        require(answer.status == 400 and answer.error == error, f"a refresh with {more}: {answer.status} {answer.text}")
        tried += 1
    waiting = answered(browser.load("GET", authorization("web", profile, ("resource", API))))["code"]
    answer = redeem(client, "web", waiting, resource=files)
    require(answer.status == 400 and answer.error == "invalid_target", f"a code for {API} at {files}: {answer.status} {answer.text}")
    # What was withdrawn is asked for again, and so is what another client was allowed.
    press(browser, "/account/apps", "remove", app="web")
    refused(profile, ("resource", API))
    given = answered(browser.load("GET", authorization("other", ("prompt", "none"))))
    require(given.get("error") == "consent_required", f"another client: {given}")
    return f"{tried + 2} requests asked the user, or were refused"


def removed_client():
    """Uses what a client has after it was removed: tokens, codes, a device, a pushed request, a remembered consent; also of an account
    that was disabled meanwhile."""
    def entry(id):
        return dict(CLIENTS[0], id=id, flows=["authorization_code", "device_code"])

    def known(*ids):
        return [dict(CLIENTS[1], introspects=True), *(entry(id) for id in ids)]

    names = ["command", "http", "file"]
    # The API that introspects, and three clients with the secret of "web".
    server = Server("--sign-up", "open", "--rate-limits", "none", administered=True, clients=known(*names))
    owner, closed, tried = Person(server, "owner"), Person(server, "closed"), 0
    client = owner.client

    def as_client(id):
        return "Basic " + base64.b64encode(f"{id}:{SECRETS['web'].replace(' ', '+')}".encode()).decode()

    def request(id, *more):
        return authorization("web", *more).replace("client_id=web", "client_id=" + id)

    def granted(browser, id):
        address = request(id)
        page = browser.load("GET", address)
        if "code" not in answered(page):
            page = browser.submit(address, action="allow")
        require("code" in answered(page), f"{id}: {page.status} {page['Location']}")
        return answered(page)["code"]

    def token(id, **fields):
        return client.form("/oauth/token", fields, Authorization=as_client(id))

    def redeemed(id, code):
        return token(id, grant_type="authorization_code", code=code, redirect_uri=REDIRECTS["web"], code_verifier=VERIFIER)

    held = {}
    for id in names:
        session = redeemed(id, granted(owner.browser, id))
        require(session.status == 200, f"{id}: {session.status} {session.text}")
        device = client.form("/oauth/device_authorization", dict(), Authorization=as_client(id))
        require(device.status == 200, f"{id}: {device.status} {device.text}")
        device = device.json
        press(owner.browser, "/device", "look", user_code=device["user_code"])
        owner.browser.submit("/device", action="allow", user_code=device["user_code"])
        push = client.form("/oauth/par", [("response_type", "code"), ("redirect_uri", REDIRECTS["web"]), ("code_challenge", CHALLENGE),
                                          ("code_challenge_method", "S256")], Authorization=as_client(id)).json
        held[id] = session.json, granted(owner.browser, id), device["device_code"], push["request_uri"]
        granted(closed.browser, id)
    server.command("accounts", "disable", closed.email)

    def reload(*left):
        """Waits until the server knows these clients alone."""
        server.configure(known(*left))
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 5
        while sorted(each["id"] for each in server.administer("GET", "/clients").json["clients"]) != sorted(["other", *left]):
            require(time.monotonic() < end, "the clients are not reloaded")
            time.sleep(0.05)

    server.command("clients", "remove", "command", "--clients", server.folder + "/clients.json")
    reload("http", "file")
    require(server.administer("DELETE", "/clients/http/sessions").status == 200, "no end over HTTP")
    reload("file")
    reload()
    server.command("clients", "remove", "file", "--clients", server.folder + "/clients.json")
    # Someone else registers under these names later.
    for again in (False, True):
        if again:
            reload(*names)
            server.command("accounts", "enable", closed.email)
        for id, (session, waiting, device, pushed) in held.items():
            require(client.get("/v1/me", Authorization=bearer(session)).status == 401, f"{id}: the access token lives")
            require(not client.form("/oauth/introspect", dict(token=session["access_token"]), Authorization=basic("other")).json["active"],
                    f"{id}: the access token is active")
            for answer in (redeemed(id, waiting), token(id, grant_type="refresh_token", refresh_token=session["refresh_token"], rotation_key="A" * 22),
                           token(id, grant_type="urn:ietf:params:oauth:grant-type:device_code", device_code=device)):
                require(answer.status in (400, 401) and "access_token" not in answer.json, f"{id}: {answer.status} {answer.text}")
            if again:
                for person, browser in ((owner, owner.browser), (closed, closed.visit())):
                    given = answered(browser.load("GET", request(id, ("prompt", "none"))))
                    require("code" not in given, f"{id}: the consent of {person.email} is remembered for the next client of that name")
            else:
                page = owner.browser.load("GET", f"/oauth/authorize?client_id={id}&request_uri={pushed}")
                require(page.status == 400 and "code" not in answered(page), f"{id}: {page.status} {page['Location']}")
            left = [each["client"] for each in owner.credentials()["consents"]]
            require(id not in left, f"{id} is among the ways into the account")
            tried += 6
    return f"{tried} tries with what {len(names)} clients had"


def at_once():
    """Presses several buttons of one account at once, again and again: none may fail for the others, and nothing may be lost."""
    server, rounds = Server("--sign-up", "open", "--rate-limits", "none"), 6
    person = Person(server, "owner")
    password, statuses = PASSWORD, set()
    browsers = [person.visit() for _ in range(3)]
    other = person.client.sign_in(person.email, PASSWORD, "d-other").json
    for browser in browsers:
        browser.load("GET", "/account")
    for number in range(rounds):
        new, name = f"a long enough secret {number}", f"Ada {number}"
        work = [
            lambda: Client(server).post("/v1/password", dict(current=password, new=new, end_others=False), Authorization=bearer(person.session)),
            lambda: browsers[0].submit("/account", action="save", name=name),
            lambda: browsers[1].submit("/account/email", action="change", new_email=f"new{number}@example.com"),
            lambda: browsers[2].submit("/account", action="save", name=name),
            lambda: Client(server).request("PATCH", "/v1/sessions/" + other["session_id"], '{"name":"%s"}' % name, {
                "Authorization": bearer(other), "Content-Type": "application/json"}),
        ]
        gate, answers = threading.Barrier(len(work)), [None] * len(work)

        def run(index):
            gate.wait()
            answers[index] = work[index]()
        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(work))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in answers:
            require(answer and answer.status in (200, 204, 303), f"round {number + 1}: {answer and (answer.status, answer.text)}")
            statuses.add(answer.status)
        password = new
        profile = person.client.get("/v1/me", Authorization=bearer(person.session)).json
        require(profile["name"] == name, f"the name is {profile['name']} instead of {name}")
        require(person.opens(password), "the new password does not sign in")
    return f"{rounds * 5} changes, five at a time: all were made"


def abandoned_guests():
    """Leaves guests behind, signed out or not, to fill the store for ever. Owners with an address must stay."""
    flags = ["--sign-up", "open", "--rate-limits", "none", "--guest-idle-limit", "1s", "--retention", "1s", "--absolute-limit", "2s"]
    server = Server(*flags)
    client = Client(server)
    guests = [client.guest(f"d-{number}") for number in range(20)]
    client.sign_up("owner@example.org", PASSWORD)
    for guest in guests[:5]:
        client.request("POST", "/v1/sign-out", None, {"Authorization": bearer(guest)})
    # One becomes an owner.
    answer = client.post("/v1/upgrade", dict(email="former-guest@example.org", password=PASSWORD, username="Ada", device=install("d-19")),
                         Authorization=bearer(guests[19]))
    require(answer.status == 200, f"upgrade: {answer.status} {answer.text}")
    before = server.command("stats")
    end = time.monotonic() + 20
    # The server sweeps when it starts.
    while (after := server.command("stats"))["guests"]:
        require(time.monotonic() < end, f"{after['guests']} of {before['guests']} guests are still there")
        time.sleep(1)
        server.end()
        server.start(*flags)
    require(before["guests"] == 19 and after["accounts"] == 2, f"{before} became {after}")
    require(Client(server).sign_in("former-guest@example.org", PASSWORD, "d-new").status == 200, "a former guest is gone")
    return f"{before['guests']} guests are gone, 2 owners are there"


ATTACKS = [
    closed_doors, waiting_address, strange_address, taken_back, widened_consent, removed_client, at_once, abandoned_guests]
