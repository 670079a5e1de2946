"""Attacks on what belongs to an account's owner: by strangers who had it for a while, who want to be its owner, or who leave guests behind."""
import json, signal

from kit import web
from attacks.person import ISSUER, PASSWORD, Person, press, signed_in, silently, together, unlocks
from attacks.target import (
    API, CHALLENGE, CLIENTS, REDIRECTS, SECRETS, VERIFIER, Browser, Client, Server, answered, authorization, basic, bearer, code, install, redeem,
    require, until)

NEW = "another long secret"


def reset(server, token, **more):
    answer = Client(server).post("/v1/password-reset/confirm", dict(token=token, new_password=NEW, **more))
    require(answer.status == 204, f"no reset: {answer}")


def reset_page(server, token, **more):
    page = press(Browser(server), "/reset-password?token=" + token, "reset", token=token, new_password=NEW, **more)
    require(page.status == 200, f"no reset: {page}")


def waiting_address():
    """Asks for a change of the address in the owner's browser, and follows the mailed link after the owner has taken the account back, in
    ways that keep something or come through another door than those of TakeBackTests."""
    server, accounts = Server("--sign-up", "open", "--rate-limits", "none", administered=True), {}

    def mailed(person):
        return server.code(person.email)

    def disable(person):
        server.command("accounts", "disable", person.email)
        server.command("accounts", "enable", person.email)

    def api(method, path, fields=None):
        def work(person):
            answer = person.client.request(method, path, fields and json.dumps(fields), {
                "Authorization": bearer(person.session), "Content-Type": "application/json"})
            require(answer.status < 300, f"{method} {path}: {answer}")
        return work

    # Each with the password that the account has afterwards; none if it has none.
    ways = {
        "password-alone": (api("POST", "/v1/password", dict(current=PASSWORD, new=NEW, end_others=False)), NEW),
        "reset-keeping": (lambda person: reset(server, mailed(person), keep_passkeys=True), NEW),
        "reset-page": (lambda person: reset_page(server, mailed(person), keep_passkeys="yes"), NEW),
        "end-others": (api("POST", "/v1/sessions/end-others"), PASSWORD),
        "end-all": (api("DELETE", "/v1/sessions"), PASSWORD),
        "end-page": (lambda person: person.press("/account/devices/end", "end-others"), PASSWORD),
        "cancel": (lambda person: person.press("/account/email", "cancel"), PASSWORD),
        "another": (lambda person: person.press("/account/email", "change", new_email=f"new-{person.email}"), PASSWORD),
        "take-back": (lambda person: server.command("accounts", "take-back", person.email), None),
        "disable": (disable, PASSWORD),
        "everyone": (lambda person: server.command("sessions", "end", "--everyone"), PASSWORD),
    }
    for name in ways:
        person = accounts[name] = Person(server, name)
        page = person.press("/account/email", "change", new_email=f"thief-{name}@example.com")
        require(page.status == 303, f"the change is refused: {page}")
        if name.startswith("reset"):
            person.client.post("/v1/password-reset", dict(email=person.email))
    codes = {name: server.code(f"thief-{name}@example.com") for name in ways}
    path = "/account/email/confirm"
    for name, (work, password) in ways.items():
        person = accounts[name]
        thief = person.browser
        if name == "end-page":
            # The owner is in another browser.
            person.browser = person.visit()
        work(person)
        for browser in [thief] + ([person.visit(password)] if password else []):
            press(browser, f"{path}?token={codes[name]}", "use", token=codes[name])
        facts = person.facts()
        require(facts["email"] == person.email, f"after {name}, the thief's link moved the account to {facts['email']}")
        waits = person.credentials().get("pending_email")
        require(not waits or waits == "new-" + person.email, f"after {name}, the change to {waits} waits")
    # The control: without any of that, the link moves it.
    person = Person(server, "control")
    person.press("/account/email", "change", new_email="mine@example.com")
    token = server.code("mine@example.com")
    press(person.browser, f"{path}?token={token}", "use", token=token)
    require(person.facts()["email"] == "mine@example.com", "the owner cannot change the address")
    return f"void in {len(ways)} ways; the owner's own works"


WIKI = dict(CLIENTS[0], scopes=["openid", "profile", "email", "offline_access"], audiences=[API, "https://files.example.org"])


def unproved_address():
    """Has an account of the attacker's count as confirmed in ways that mail nothing to the address, and by a code that was mailed for
    something else."""
    server = Server("--sign-up", "open", "--rate-limits", "none", clients=[WIKI, CLIENTS[1], CLIENTS[2]], administered=True)
    attacker, typed, given = (Person(server, name) for name in ("attacker", "typed", "given"))

    def claimed(email, password):
        """Whether the address counts as confirmed, as a client is told."""
        client = Client(server)
        session = redeem(client, "web", code(Browser(server), "web", email, password, ("scope", "openid email"))).json
        info = client.get("/oauth/userinfo", Authorization=bearer(session)).json
        require(info["email"] == email, f"{email} is {info}")
        return info["email_verified"]

    attacker.press("/account/email", "change", new_email="victim@example.com")
    token = server.code("victim@example.com")
    for path, more in (("/v1/sign-up/confirm", dict(password=NEW, device=install("d"))), ("/v1/password-reset/confirm", dict(new_password=NEW))):
        answer = attacker.client.post(path, dict(token=token, **more))
        require(answer.status == 400, f"{path} takes the code of a change: {answer}")
    answer = Client(server).post("/v1/upgrade", dict(email="upgraded@example.org", password=PASSWORD, username="Eve", device=install("d-upgrade")),
                                 Authorization=bearer(Client(server).guest("d-upgrade")))
    require(answer.status == 200, f"upgrade: {answer}")
    for words in (("reset", typed.email), ("take-back", given.email, "--email", "victim2@example.com")):
        reset(server, server.command("accounts", *words)["reset"]["code"])
    tried = [(attacker.email, PASSWORD), (typed.email, NEW), ("victim2@example.com", NEW), ("upgraded@example.org", PASSWORD)]
    for email, password in tried:
        require(not claimed(email, password), f"{email} counts as confirmed")
    # The control: a mailed code was read by its owner.
    typed.client.post("/v1/password-reset", dict(email=typed.email))
    reset(server, server.code(typed.email))
    require(claimed(typed.email, NEW), "a mailed code confirms nothing")
    return f"{len(tried)} ways confirmed nothing; a code that was mailed and used does"


def taken_back():
    """Adds a passkey, recovery codes and an application to the owner's account, and uses each after the owner has taken it back."""
    server, people = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER, administered=True), {}

    def http(person, path):
        return server.administer("POST", f"/accounts/{person.id}/{path}", {}).json

    ways = {
        "mailed": lambda person: reset(server, server.code(person.email)),
        "page": lambda person: reset_page(server, http(person, "reset")["code"]),
        "take-back": lambda person: reset_page(server, http(person, "take-back")["reset"]["code"]),
        "keeping": lambda person: reset(server, server.code(person.email), keep_passkeys=True),
        # Signed up by a stranger, and never confirmed.
        "squatted": lambda person: reset(server, server.code(person.email), keep_passkeys=True),
    }
    for name in ways:
        person = people[name] = Person(server, name, proved=name != "squatted")
        person.key, person.codes = person.add_passkey(), person.recovery_codes()
        person.app = redeem(person.client, "web", code(person.browser, "web", person.email, PASSWORD)).json
        person.kept = code(person.browser, "web", person.email, PASSWORD)
        if name not in ("page", "take-back"):
            person.client.post("/v1/password-reset", dict(email=person.email))
    for name, work in ways.items():
        person, thief, keeps = people[name], people[name].browser, name == "keeping"
        work(person)
        require(not signed_in(thief), f"{name}: a browser is signed in")
        for session in (person.session, person.app):
            require(person.client.get("/v1/me", Authorization=bearer(session)).status == 401, f"{name}: a session lives")
        require(redeem(person.client, "web", person.kept).status == 400, f"{name}: a code of the application is good")
        require(person.opens(NEW) and not person.opens(PASSWORD), f"{name}: the passwords")
        require(unlocks(person.client, person.key) == keeps, f"{name}: the passkey {'is gone' if keeps else 'signs in'}")
        require(person.recovers(person.codes[0]) == keeps, f"{name}: the recovery code {'is gone' if keeps else 'signs in'}")
        asked = silently(person.visit(NEW))
        require(("code" in asked) == keeps, f"{name}: the application {'must ask again' if keeps else 'asks for nothing'}: {asked}")
        left = person.credentials()
        require(keeps or not (left["passkeys"] or left["recovery_codes"] or left["consents"]), f"{name}: {left}")
    return f"nothing left after {len(ways) - 1} ways; with keep_passkeys the owner's stay"


def widened_consent():
    """Asks silently for more than the user has allowed the client: another API, another scope, at each endpoint that takes them."""
    server = Server("--sign-up", "open", "--rate-limits", "none", clients=[WIKI, CLIENTS[1], CLIENTS[2]])
    person, files, tried = Person(server, "owner"), "https://files.example.org", 0
    browser, client = person.browser, person.client

    def pushed(*more):
        fields = [("response_type", "code"), ("client_id", "web"), ("redirect_uri", REDIRECTS["web"]), ("code_challenge", CHALLENGE),
                  ("code_challenge_method", "S256"), *more]
        answer = client.form("/oauth/par", fields, Authorization=basic("web"))
        require(answer.status == 201, f"par: {answer}")
        return f"/oauth/authorize?client_id=web&request_uri={answer.json['request_uri']}"

    def refused(*more):
        nonlocal tried
        for address in (authorization("web", *more), pushed(*more)):
            page = browser.load("GET", address)
            require("code" not in answered(page) and page.status == 200, f"no question for {more}: {page.status} {page['Location']}")
        for given in (silently(browser, *more), answered(browser.load("GET", pushed(*more, ("prompt", "none"))))):
            require(given.get("error") == "consent_required" and "code" not in given, f"prompt=none {more}: {given}")
        tried += 4

    profile, email, whole, api = ("scope", "profile"), ("scope", "email"), ("scope", "profile email"), ("resource", API)
    refused(profile, api)
    mine = redeem(client, "web", code(browser, "web", person.email, PASSWORD, profile, api)).json
    require("code" in answered(browser.load("GET", authorization("web", profile, api))), "it is asked for again")
    for more in ((profile,), (profile, ("resource", files)), (whole, api), (email, api), (whole,), (("scope", "profile openid"), api),
                 (("scope", "profile offline_access"), api)):
        refused(*more)
    # Without a resource, the user is asked for all that the client may name later.
    page = browser.load("GET", authorization("web", profile))
    require(API in page.text and files in page.text, "the question names not every API")
    # At the token endpoint: another API than the code or the session is for.
    waiting = answered(browser.load("GET", authorization("web", profile, api)))["code"]
    for answer in (redeem(client, "web", waiting, resource=files), client.form("/oauth/token", dict(
            grant_type="refresh_token", refresh_token=mine["refresh_token"], rotation_key="A" * 22, resource=files), Authorization=basic("web"))):
        require(answer.status == 400 and answer.error == "invalid_target", f"a token for {files}: {answer}")
    # What was withdrawn is asked for again, and so is what another client was allowed.
    press(browser, "/account/apps", "remove", app="web")
    refused(profile, api)
    given = answered(browser.load("GET", authorization("other", ("prompt", "none"))))
    require(given.get("error") == "consent_required", f"another client: {given}")
    return f"{tried + 3} requests asked the user, or were refused"


def removed_client():
    """Uses what a client has after it was removed: tokens, codes, a device, a pushed request, a remembered consent; also of an account
    that was disabled meanwhile."""
    names = ["command", "http", "file"]

    def known(*ids):
        """The API that introspects, and clients with the secret of "web"."""
        return [dict(CLIENTS[1], introspects=True), *(dict(CLIENTS[0], id=id, flows=["authorization_code", "device_code"]) for id in ids)]

    server = Server("--sign-up", "open", "--rate-limits", "none", administered=True, clients=known(*names))
    owner, closed, held, tried = Person(server, "owner"), Person(server, "closed"), {}, 0
    client = owner.client

    def request(id, *more):
        return authorization("web", *more).replace("client_id=web", "client_id=" + id)

    def granted(browser, id):
        page = browser.load("GET", request(id))
        if "code" not in answered(page):
            page = browser.submit(request(id), action="allow")
        require("code" in answered(page), f"{id}: {page.status} {page['Location']}")
        return answered(page)["code"]

    def send(id, path, **fields):
        return client.form("/oauth/" + path, fields, Authorization=web.basic(id, SECRETS["web"]))

    def redeemed(id, code):
        return send(id, "token", grant_type="authorization_code", code=code, redirect_uri=REDIRECTS["web"], code_verifier=VERIFIER)

    for id in names:
        session, device = redeemed(id, granted(owner.browser, id)), send(id, "device_authorization")
        push = send(id, "par", response_type="code", redirect_uri=REDIRECTS["web"], code_challenge=CHALLENGE, code_challenge_method="S256")
        require((session.status, device.status, push.status) == (200, 200, 201), f"{id}: {session} {device} {push}")
        press(owner.browser, "/device", "look", user_code=device.json["user_code"])
        owner.browser.submit("/device", action="allow", user_code=device.json["user_code"])
        held[id] = session.json, granted(owner.browser, id), device.json["device_code"], push.json["request_uri"]
        granted(closed.browser, id)
    server.command("accounts", "disable", closed.email)

    def reload(*left):
        """Waits until the server knows these clients alone."""
        server.configure(known(*left))
        server.process.send_signal(signal.SIGHUP)
        until(lambda: {each["id"] for each in server.administer("GET", "/clients").json["clients"]} == {"other", *left},
              "the clients are not reloaded", 5)

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
            for answer in (redeemed(id, waiting),
                           send(id, "token", grant_type="refresh_token", refresh_token=session["refresh_token"], rotation_key="A" * 22),
                           send(id, "token", grant_type="urn:ietf:params:oauth:grant-type:device_code", device_code=device)):
                require(answer.status in (400, 401) and "access_token" not in answer.json, f"{id}: {answer}")
            if again:
                for person, browser in ((owner, owner.browser), (closed, closed.visit())):
                    given = answered(browser.load("GET", request(id, ("prompt", "none"))))
                    require("code" not in given, f"{id}: the consent of {person.email} is remembered for the next client of that name")
            else:
                page = owner.browser.load("GET", f"/oauth/authorize?client_id={id}&request_uri={pushed}")
                require(page.status == 400 and "code" not in answered(page), f"{id}: {page.status} {page['Location']}")
            require(id not in [each["client"] for each in owner.credentials()["consents"]], f"{id} is among the ways into the account")
            tried += 6
    return f"{tried} tries with what {len(names)} clients had"


def at_once():
    """Presses several buttons of one account at once, again and again: none may fail for the others, and nothing may be lost."""
    server, rounds = Server("--sign-up", "open", "--rate-limits", "none"), 6
    person, password = Person(server, "owner"), PASSWORD
    browsers = [person.visit() for _ in range(3)]
    other = person.client.sign_in(person.email, PASSWORD, "d-other").json
    for browser in browsers:
        browser.load("GET", "/account")
    for number in range(rounds):
        new, name = f"a long enough secret {number}", f"Ada {number}"
        answers = together([
            lambda: Client(server).post("/v1/password", dict(current=password, new=new, end_others=False), Authorization=bearer(person.session)),
            lambda: browsers[0].submit("/account", action="save", name=name),
            lambda: browsers[1].submit("/account/email", action="change", new_email=f"new{number}@example.com"),
            lambda: browsers[2].submit("/account", action="save", name=name),
            lambda: Client(server).request("PATCH", "/v1/sessions/" + other["session_id"], '{"name":"%s"}' % name, {
                "Authorization": bearer(other), "Content-Type": "application/json"}),
        ])
        for answer in answers:
            require(answer.status in (200, 204, 303), f"round {number + 1}: {answer}")
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
    require(answer.status == 200, f"upgrade: {answer}")
    before = server.command("stats")

    def swept():
        """The server sweeps when it starts."""
        server.end()
        server.start(*flags)
        return not server.command("stats")["guests"]

    until(swept, "guests are still there", 20, 1)
    after = server.command("stats")
    require(before["guests"] == 19 and after["accounts"] == 2, f"{before} became {after}")
    require(Client(server).sign_in("former-guest@example.org", PASSWORD, "d-new").status == 200, "a former guest is gone")
    return f"{before['guests']} guests are gone, 2 owners are there"


ATTACKS = [waiting_address, unproved_address, taken_back, widened_consent, removed_client, at_once, abandoned_guests]
