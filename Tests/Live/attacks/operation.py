"""Attacks by circumstances: settings that would be unsafe, a full disk, no memory, signals, a restored backup, a key that leaked; and what
the log tells of attacks."""
import datetime, json, os, resource, shutil, signal, sqlite3, subprocess, tempfile, time

import kit.server
from attacks import target
from attacks.person import ISSUER, PASSWORD, Person, press, signed_in, unlocks
from attacks.target import (
    Browser, Client, Holder, Server, base64url, basic, bearer, code, install, redeem, require)

NEW = "another long secret"


def cleartext():
    """Has the server send passwords and tokens in clear: by its address, and by the address that it gives to clients."""
    refused = []
    for flags in (
        ["--host", "0.0.0.0"], ["--host", "::"], ["--issuer", "http://id.example.org"], ["--issuer", "http://10.0.0.5:8080"],
        ["--issuer", "http://127.0.0.1.example.org"], ["--issuer", "http://localhost.example.org"], ["--issuer", "http://127.0.0.1@example.org"],
        ["--host", "0.0.0.0", "--trusted-proxies", "127.0.0.1", "--issuer", "http://id.example.org"],
    ):
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = subprocess.run(
                    [kit.server.PROGRAM, "serve", "--data", folder, "--port", "0", "--log-level", "error", *flags], stdin=subprocess.DEVNULL,
                    capture_output=True, text=True, timeout=5)
            except subprocess.TimeoutExpired:
                raise target.Lost(f"it serves with {' '.join(flags)}")
        require(result.returncode and not result.stdout and "hint:" in result.stderr, f"{' '.join(flags)}: {result.stderr}")
        refused.append(flags)
    return f"{len(refused)} settings refused"


def disk_full():
    """Fills the disk: the server says so, and no client takes it for the end of its session. Then there is room again."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    client = Client(server)
    holder = Holder(client, client.guest())
    require(holder.refresh().status == 200 and client.get("/ready").status == 200, "the server is not ready")
    pid, former = server.process.pid, resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    # A limit on the size of files has the effect of a full disk: every write fails.
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, former[1]))
    time.sleep(2.1)
    statuses = {"refresh": [holder.refresh() for _ in range(3)], "guest": [client.post("/v1/sign-in/anonymous", dict(
        device=dict(id="d", name="n", platform="p")))], "/ready": [client.get("/ready")]}
    require(server.runs(), "the server ended")
    for name, answers in statuses.items():
        for answer in answers:
            require(answer.status == 503, f"{name} on a full disk: {answer.status} {answer.text}")
    require(all(answer["Retry-After"] for answer in statuses["refresh"]), "no Retry-After")
    require(client.get("/health").status == 200, "/health does not answer")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, former)
    end = time.monotonic() + 6
    while client.get("/ready").status != 200:
        require(time.monotonic() < end, "/ready does not recover")
        time.sleep(0.2)
    answer = holder.refresh()
    require(answer.status == 200, f"the session did not survive: {answer.status} {answer.text}")
    return "refresh, sign-in and /ready are 503, /health is 200; with room again the session goes on"


def hangup():
    """Sends SIGHUP, which ends most programs, and again at once."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    client = Client(server)
    holder = Holder(client, client.guest())
    for _ in range(20):
        server.process.send_signal(signal.SIGHUP)
        require(holder.refresh().status == 200, "a refresh failed")
    with open(server.folder + "/clients.json", "w") as file:
        file.write("{")
    server.process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    require(server.runs(), "the process has ended")
    require(holder.refresh().status == 200, "a refresh failed after a reload of unusable settings")
    return "the process and its sessions survive 21 signals, and unusable settings"


def no_memory():
    """Tries passwords of an account whose hash needs more memory than any may: each door says that it is busy, and the log why."""
    flags = ["--sign-up", "open", "--rate-limits", "none"]
    server = Server(*flags)
    person = Person(server, "owner")
    holder = Holder(person.client, person.client.guest())
    server.end()
    # A hash that needs four tebibytes, of which none is attempted.
    greedy = b"$argon2id$v=19$m=4294967295,t=1,p=1$" + b"A" * 22 + b"$" + b"A" * 43
    with sqlite3.connect(server.folder + "/data/registry.sqlite") as base:
        former = base.execute("SELECT password_hash FROM account WHERE id = ?", (person.id,)).fetchone()[0]
        base.execute("UPDATE account SET password_hash = ? WHERE id = ?", (greedy, person.id))
    base.close()
    server.start(*flags)
    client, browser = Client(server), Browser(server)
    holder.client = client
    token = dict(Authorization=bearer(person.session))
    doors = {
        "sign-in": lambda: client.sign_in(person.email, PASSWORD, "d-new"),
        "password": lambda: client.post("/v1/password", dict(current=PASSWORD, new=NEW, end_others=True), **token),
        "proof": lambda: client.post("/v1/reauthenticate", dict(password=PASSWORD), **token),
        "deletion": lambda: client.request("DELETE", "/v1/me", json.dumps(dict(password=PASSWORD)), {
            "Content-Type": "application/json", **token}),
        "cookie": lambda: client.post("/v1/session", dict(email=person.email, password=PASSWORD)),
        "sign-in page": lambda: press(browser, "/sign-in", "sign-in", email=person.email, password=PASSWORD),
        "password page": lambda: person.press("/account/security", "change-password", current_password=PASSWORD, new_password=NEW),
        "deletion page": lambda: person.press("/account/delete", "delete", typed_email=person.email, password=PASSWORD),
    }
    for name, door in doors.items():
        answer = door()
        require(server.runs(), f"{name}: the server ended")
        later = answer["Retry-After"] or "page" in name
        # These pages say so in a notice.
        said = answer.status == 503 and later or name in ("password page", "deletion page") and "class=\"notice" in answer.text
        require(said, f"{name}: {answer.status} {answer.text[:300]}")
    require(holder.refresh().status == 200 and signed_in(person.browser), "those who are signed in are not served")
    with open(server.folder + "/log") as file:
        lines = [json.loads(line) for line in file if line.startswith("{")]
    told = [line for line in lines if "over the limit" in line.get("handstamp.cause", "")]
    require(len(told) >= len(doors), f"{len(told)} of {len(doors)} failures are in the log: {lines[-2:]}")
    server.end()
    with sqlite3.connect(server.folder + "/data/registry.sqlite") as base:
        base.execute("UPDATE account SET password_hash = ? WHERE id = ?", (former, person.id))
    base.close()
    server.start(*flags)
    require(Client(server).sign_in(person.email, PASSWORD, "d-new").status == 200, "the password has changed")
    return f"503 at {len(doors)} doors, each with its cause in the log; those who are signed in are served"


def leaked_key():
    """Presents tokens of a refresh key that leaked and was retired by force: each is refused for good. One whose key is merely missing is
    not."""
    flags = ["--sign-up", "open", "--rate-limits", "none"]
    server = Server(*flags)
    person = Person(server, "owner")
    web = redeem(person.client, "web", code(person.browser, "web", person.email, PASSWORD)).json
    keys = server.folder + "/data/keys.json"

    def restart():
        server.end()
        server.start(*flags)
        return Client(server)

    def refresh(client, token, **headers):
        return client.form("/oauth/token", dict(grant_type="refresh_token", refresh_token=token, rotation_key=base64url(b"k" * 16)), **headers)

    first = next(key["id"] for key in server.command("keys", "list")["keys"] if key["kind"] == "refresh")
    server.command("keys", "rotate", "refresh")
    client = restart()
    later = client.sign_in(person.email, PASSWORD, "d-later").json
    # Missing, as in a damaged or an old file: nothing is decided.
    with open(keys) as file:
        whole = file.read()
    gone = json.loads(whole)
    require(first in gone["keys"], f"no {first} in {list(gone)}")
    del gone["keys"][first]
    server.end()
    with open(keys, "w") as file:
        json.dump(gone, file)
    try:
        server.start(*flags)
        answer = refresh(Client(server), person.session["refresh_token"])
        require(answer.status == 503, f"a missing key signs users out: {answer.status} {answer.text}")
        server.end()
    except target.Lost as failure:
        # To refuse the start is as good.
        require("did not start" in str(failure), str(failure))
    with open(keys, "w") as file:
        file.write(whole)
    server.start(*flags)
    require(server.command("keys", "retire", first, check=False).returncode != 0, "a key that is needed is retired without a word")
    server.command("keys", "retire", first, "--force")
    client, tried = restart(), 0
    for session, headers in ((person.session, {}), (web, dict(Authorization=basic("web")))):
        for _ in range(2):
            answer = refresh(client, session["refresh_token"], **headers)
            require(answer.status == 400 and answer.error == "invalid_grant", f"a refresh: {answer.status} {answer.text}")
        answer = client.form("/oauth/introspect", dict(token=session["refresh_token"]), Authorization=basic("web"))
        require(answer.status == 200 and answer.json == {"active": False}, f"introspection: {answer.status} {answer.text}")
        for token in (session["refresh_token"], session.get("revocation_handle")):
            if token:
                answer = client.form("/oauth/revoke", dict(token=token), **headers)
                require(answer.status in (200, 400), f"revocation: {answer.status} {answer.text}")
        tried += 5
    require(Holder(client, later).refresh().status == 200, "a session of the new key has ended")
    again = client.sign_in(person.email, PASSWORD, "d-again")
    require(again.status == 200 and Holder(client, again.json).refresh().status == 200, "the owner cannot sign in again")
    ids = [server.command("keys", "rotate", "refresh")["ids"][0] for _ in range(2)]
    require(first not in ids, f"the name {first} is given to a new key")
    return f"{tried} requests refused for good; sessions of the new key go on"


def who_was_it():
    """Signs in to the owner's account in every way, from a place each, and fails from others: the log must tell which and where, also
    after the address was changed and the account deleted."""
    server = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER, administered=True)
    began = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    person = Person(server, "owner")
    key, codes, places = person.add_passkey(), person.recovery_codes(), {}

    def at(way):
        places[way] = f"127.0.60.{len(places) + 1}"
        return Client(server, places[way]), Browser(server, places[way])

    client, _ = at("password")
    require(client.sign_in(person.email, PASSWORD, "d-1").status == 200, "no sign-in")
    client, _ = at("passkey")
    require(unlocks(client, key), "no sign-in by a passkey")
    _, browser = at("recovery_code")
    page = press(browser, "/recover", "recover", email=person.email, recovery_code=codes[0])
    require(page.status == 303, f"no sign-in by a recovery code: {page.status}")
    client, _ = at("authorization_code")
    require(redeem(client, "web", code(person.browser, "web", person.email, PASSWORD)).status == 200, "no session of the client")
    client, _ = at("device_code")
    device = client.form("/oauth/device_authorization", dict(client_id="cli")).json
    press(person.browser, "/device", "look", user_code=device["user_code"])
    person.browser.submit("/device", action="allow", user_code=device["user_code"])
    answer = client.form("/oauth/token", dict(grant_type="urn:ietf:params:oauth:grant-type:device_code", device_code=device["device_code"],
                                              client_id="cli"))
    require(answer.status == 200, f"no session of the device: {answer.text}")
    _, browser = at("page")
    browser.sign_in("/sign-in", person.email.upper(), PASSWORD)
    client, _ = at("cookie")
    answer = client.post("/v1/session", dict(email=person.email, password=PASSWORD), Origin=ISSUER)
    require(answer.status == 200, f"no session of a browser application: {answer.status} {answer.text}")
    ways = dict(page="password", cookie="password")
    for refused, wrong in (("wrong", lambda client, browser: client.sign_in(person.email, "a wrong password", "d-2")),
                           ("wrong key", lambda client, browser: client.post(
                               "/v1/sign-in/passkey", dict(passkey=key.get(client.post("/v1/sign-in/passkey/options").json).replace(
                                   '"signature": "', '"signature": "AAAA'), device=install("d-3")))),
                           ("wrong code", lambda client, browser: press(
                               browser, "/recover", "recover", email=person.email, recovery_code=codes[0]))):
        answer = wrong(*at(refused))
        require(answer.status in (400, 401), f"{refused}: {answer.status} {answer.text[:200]}")
    stranger, _ = at("stranger")
    stranger.sign_in("unknown@example.org", "a wrong password", "d-4")

    def entries(account, *more):
        return server.command("audit", "list", "--account", account, "--since", began, "--limit", "500", *more)["entries"]

    def check(listed, name):
        for way, place in places.items():
            # What no passkey has signed says nothing of an account.
            if way in ("stranger", "wrong key"):
                continue
            found = [entry for entry in listed if entry.get("address") == place]
            action = "sign_in.refused" if way.startswith("wrong") else "session.began"
            require(any(entry["action"] == action and f'"way":"{ways.get(way, way)}"' in entry["details"].replace(" ", "") or
                        way.startswith("wrong") and entry["action"] == action for entry in found),
                    f"{name} does not tell of {way} from {place}: {found}")

    for name in (person.email, person.email.upper(), person.id):
        check(entries(name), name)
    http = server.administer("GET", f"/audit?account={person.id}&since={began}&limit=500").json["audit"]
    check(http, "HTTP")
    require(not server.command("audit", "list", "--account", person.id, "--since", "2099-01-01")["entries"], "--since has no effect")
    hashed = target.command("admin", "audit", "hash", "Unknown@Example.org", "--data", server.folder + "/data").stdout.strip()
    every = server.command("audit", "list", "--since", began, "--limit", "500")["entries"]
    require(hashed and any(entry.get("address") == places["stranger"] and hashed in entry["details"] for entry in every),
            f"no line about {places['stranger']} has {hashed}")
    person.press("/account/email", "change", new_email="moved@example.com")
    token = server.code("moved@example.com")
    press(person.browser, "/account/email/confirm?token=" + token, "use", token=token)
    for name in (person.email, "moved@example.com"):
        told = entries(name)
        require(any(entry["action"] == "email.changed" and entry["account"] == person.id for entry in told), f"{name}: {told[-1:]}")
    server.command("accounts", "delete", person.id)
    check(entries(person.id), "a deleted account's log")
    return f"{len(places)} places, each found by account, address or hash, also after a change of the address and deletion"


def restored():
    """Restores a backup, as documented and by hand, to get back what was taken away since: accounts, passkeys, codes, consents, sessions,
    passwords, addresses."""
    flags = ["--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER]
    server = Server(*flags, administered=True)
    names = ("deleted", "deleted-page", "deleted-admin", "disabled", "enabled", "keyless", "withdrawn", "changed", "reset", "moved", "spent",
             "remade", "ended", "ended-admin", "taken", "passwordless")
    who = {name: Person(server, name) for name in names}
    client, keys, recovery = Client(server), {}, {}
    for name in ("keyless", "taken", "passwordless"):
        keys[name] = who[name].add_passkey()
    for name in ("spent", "remade", "taken"):
        recovery[name] = who[name].recovery_codes()
    for name in ("withdrawn", "taken", "reset"):
        who[name].app = redeem(client, "web", code(who[name].browser, "web", who[name].email, PASSWORD)).json
    server.command("accounts", "disable", who["enabled"].email)
    # Codes that were shown or mailed before the backup: one is used since, the others wait.
    for name in ("reset", "ended"):
        client.post("/v1/password-reset", dict(email=who[name].email))
    for name in ("moved", "spent"):
        who[name].press("/account/email", "change", new_email=f"new-{name}@example.com")
    waiting = {name: server.code(who[name].email) for name in ("reset", "ended")}
    links = {name: server.code(f"new-{name}@example.com") for name in ("moved", "spent")}
    printed = server.command("accounts", "reset", who["changed"].email)["reset"]["code"]
    backup = server.folder + "/backup"
    server.command("database", "backup", backup)

    def done(answer, *statuses):
        require(answer.status in statuses, f"{answer.status} {answer.text[:300]}")

    def api(method, path, person, fields=None):
        return person.client.request(method, path, fields and json.dumps(fields), {
            "Authorization": bearer(person.session), "Content-Type": "application/json"})

    done(api("DELETE", "/v1/me", who["deleted"], dict(password=PASSWORD)), 204)
    page = who["deleted-page"]
    done(page.press("/account/delete", "delete", typed_email=page.email, password=PASSWORD), 200)
    server.command("accounts", "delete", who["deleted-admin"].email)
    server.command("accounts", "disable", who["disabled"].email)
    server.command("accounts", "enable", who["enabled"].email)
    who["keyless"].press("/account/security", "remove-passkey", passkey_id=keys["keyless"].name)
    who["withdrawn"].press("/account/apps", "remove", app="web")
    done(api("POST", "/v1/password", who["changed"], dict(current=PASSWORD, new=NEW, end_others=True)), 204)
    done(client.post("/v1/password-reset/confirm", dict(token=waiting["reset"], new_password=NEW)), 204)
    press(who["moved"].browser, "/account/email/confirm?token=" + links["moved"], "use", token=links["moved"])
    require(who["spent"].recovers(recovery["spent"][0]), "a recovery code does not work")
    later = who["remade"].recovery_codes()
    done(api("POST", "/v1/sign-out", who["ended"]), 204)
    server.command("sessions", "end", "--account", who["ended-admin"].email)
    server.command("accounts", "take-back", who["taken"].email)
    who["passwordless"].press("/account/security", "remove-password")

    def check(how):
        def alike(condition, words):
            require(condition, f"{how}: {words}")
        client = Client(server)
        for name in ("deleted", "deleted-page", "deleted-admin"):
            alike(not who[name].opens(PASSWORD) and who[name].facts()["state"] == "deleted", f"{name}: the account is back")
        for person in who.values():
            person.client = Client(server)
        alike(client.sign_in(who["disabled"].email, PASSWORD, "d").error == "account_disabled", "a disabled account is enabled")
        alike(who["enabled"].opens(PASSWORD), "an enabled account is disabled")
        alike(not unlocks(client, keys["keyless"]) and not unlocks(client, keys["taken"]), "a removed passkey signs in")
        alike(unlocks(client, keys["passwordless"]), "a passkey is lost")
        for name in ("changed", "reset", "taken", "passwordless"):
            alike(not who[name].opens(PASSWORD), f"{name}: the former password signs in")
        for name, used in (("spent", recovery["spent"][0]), ("remade", recovery["remade"][0]), ("taken", recovery["taken"][0])):
            alike(not who[name].recovers(used), f"{name}: the recovery code signs in")
        for name in ("withdrawn", "taken", "reset"):
            alike(not who[name].credentials()["consents"], f"{name}: the consent is back")
            alike(client.get("/v1/me", Authorization=bearer(who[name].app)).status == 401, f"{name}: the client's session is back")
        for name in ("deleted", "disabled", "ended", "ended-admin", "taken", "reset"):
            alike(client.get("/v1/me", Authorization=bearer(who[name].session)).status == 401, f"{name}: the session is back")
            answer = client.form("/oauth/token", dict(grant_type="refresh_token", refresh_token=who[name].session["refresh_token"],
                                                      rotation_key=base64url(b"k" * 16)))
            alike(answer.status == 400, f"{name}: the session refreshes: {answer.status}")
            # Who signed out in the app is in the browser still.
            alike(name == "ended" or not signed_in(who[name].browser), f"{name}: the browser is signed in")
        alike(who["moved"].facts()["email"] == "new-moved@example.com", "the former address is back")
        for token in (waiting["reset"], waiting["ended"], printed):
            answer = client.post("/v1/password-reset/confirm", dict(token=token, new_password="a thief's password"))
            alike(answer.status == 400, f"a code of before sets a password: {answer.status}")
        for name in ("moved", "spent"):
            browser = who[name].browser if signed_in(who[name].browser) else who[name].visit()
            press(browser, "/account/email/confirm?token=" + links[name], "use", token=links[name])
        alike(who["spent"].facts()["email"] == who["spent"].email, "a link of before moves the account")

    def stop():
        server.end()

    stop()
    said = server.command("database", "restore", backup)
    server.start(*flags)
    who["moved"].email = "new-moved@example.com"
    check("restored")
    stop()
    for name in ("registry.sqlite", "registry.sqlite-wal", "registry.sqlite-shm"):
        path = f"{server.folder}/data/{name}"
        if os.path.exists(path):
            os.remove(path)
    shutil.copy(backup + "/registry.sqlite", server.folder + "/data/registry.sqlite")
    server.start(*flags)
    check("put there by hand")
    lost = {each["account"] for each in said["lostPasswords"]}
    require({who[name].id for name in ("changed", "reset")} <= lost, f"the command names {lost}")
    return f"nothing came back to {len(names)} accounts, twice; {len(lost)} have to set a password, and are named"


ATTACKS = [cleartext, disk_full, hangup, no_memory, leaked_key, who_was_it, restored]
