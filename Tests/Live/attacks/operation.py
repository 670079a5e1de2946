"""Attacks by circumstances: a restart, a full disk, no memory, a restored backup, a key that leaked; and what the log tells of attacks."""
import contextlib, datetime, http.client, json, os, pathlib, resource, shutil, socket, sqlite3, threading

import kit.server
from kit.web import JSON, rotation_key, until
from attacks.person import ISSUER, PASSWORD, Person, press, signed_in, unlocks
from attacks.target import FREE, Browser, Client, Holder, Lost, Server, basic, bearer, code, command, install, redeem, require

NEW = "another long secret"


def restarts():
    """Restarts a server five times on a socket that outlives it, as systemd holds it, and hears of each state. Eight clients send requests meanwhile, on
    kept connections and never twice: none may be refused, nor a connection end without an answer."""
    server, listening, states = kit.server.Server(), socket.create_server(("127.0.0.1", 0), backlog=1024), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    states.bind(server.folder + "/notify")
    states.settimeout(60)
    enter = f'exec 3<&{listening.fileno()}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"'
    sent, failures, total = [], [], 10_000

    def start():
        server.launch("--issuer", "http://127.0.0.1", "--log-level", "warning", wrapper=["bash", "-c", enter], pass_fds=[listening.fileno()],
                      env={**os.environ, "NOTIFY_SOCKET": server.folder + "/notify"})
        require((told := states.recv(256)) == b"READY=1", f"a server that begins tells {told}")

    def stop():
        status = server.end()
        require((told := states.recv(256)) == b"STOPPING=1" and status == 0, f"a server that ends with {status} tells {told}")

    def send():
        client = Client(server)
        client.retries = False
        while len(sent) < total and len(failures) < 20:
            sent.append(client)
            try:
                require((answer := client.get("/health")).json == {"status": "ok"}, f"{answer}")
            except (OSError, http.client.HTTPException, Lost) as error:
                failures.append(repr(error))

    start()
    clients = [threading.Thread(target=send) for _ in range(8)]
    for thread in clients:
        thread.start()
    for restart in range(1, 6):
        until(lambda: len(sent) >= total * restart / 6 or failures, "the clients send nothing", 120, 0.01)
        stop()
        start()
    for thread in clients:
        thread.join(120)
    stop()
    require(not failures, f"{len(failures)} of {len(sent)} requests failed: {failures[:5]}")
    return f"{len(sent)} requests beside 5 restarts, none refused"


def disk_full():
    """Fills the disk: the server says so, and no client takes it for the end of its session. Then there is room again."""
    server = Server(*FREE)
    client = Client(server)
    holder, pid = Holder(client, client.guest()), server.process.pid
    require(holder.refresh().status == 200 and client.get("/ready").status == 200, "the server is not ready")
    former = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    # A limit on the size of files has the effect of a full disk: every write fails.
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, former[1]))
    until(lambda: client.get("/ready").status == 503, "/ready does not say so", 6)
    refreshes = [holder.refresh() for _ in range(3)]
    guest = client.post("/v1/sign-in/anonymous", dict(device=install("d")))
    require(server.runs(), "the server ended")
    for answer in (*refreshes, guest):
        require(answer.status == 503, f"on a full disk: {answer}")
    require(all(answer["Retry-After"] for answer in refreshes), "no Retry-After")
    require(client.get("/health").status == 200, "/health does not answer")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, former)
    until(lambda: client.get("/ready").status == 200, "/ready does not recover", 6)
    require((answer := holder.refresh()).status == 200, f"the session did not survive: {answer}")
    return "refresh, sign-in and /ready are 503, /health is 200; with room again the session goes on"


def no_memory():
    """Tries passwords of an account whose hash needs more memory than any may: each door says that it is busy, and the log why."""
    server = Server(*FREE)
    person = Person(server, "owner")
    holder = Holder(person.client, person.client.guest())

    def set_hash(hash):
        """Puts a password hash in place of the former one, which it returns, while the server is stopped."""
        server.end()
        with contextlib.closing(sqlite3.connect(server.folder + "/data/registry.sqlite")) as base, base:
            former = base.execute("SELECT password_hash FROM account WHERE id = ?", (person.id,)).fetchone()[0]
            base.execute("UPDATE account SET password_hash = ? WHERE id = ?", (hash, person.id))
        server.start(*FREE)
        return former

    # A hash that needs four tebibytes, of which none is attempted.
    former = set_hash(b"$argon2id$v=19$m=4294967295,t=1,p=1$" + b"A" * 22 + b"$" + b"A" * 43)
    client, token = Client(server), dict(Authorization=bearer(person.session))
    holder.client = client
    doors = {
        "sign-in": lambda: client.sign_in(person.email, PASSWORD, "d-new"),
        "password": lambda: client.post("/v1/password", dict(current=PASSWORD, new=NEW, end_others=True), **token),
        "proof": lambda: client.post("/v1/reauthenticate", dict(password=PASSWORD), **token),
        "deletion": lambda: client.request("DELETE", "/v1/me", json.dumps(dict(password=PASSWORD)), {**JSON, **token}),
        "cookie": lambda: client.post("/v1/session", dict(email=person.email, password=PASSWORD)),
        "sign-in page": lambda: press(Browser(server), "/sign-in", "sign-in", email=person.email, password=PASSWORD),
        "password page": lambda: person.press("/account/security", "change-password", current_password=PASSWORD, new_password=NEW),
        "deletion page": lambda: person.press("/account/delete", "delete", typed_email=person.email, password=PASSWORD),
    }
    for name, door in doors.items():
        answer = door()
        require(server.runs(), f"{name}: the server ended")
        # These pages say so in a notice.
        said = name in ("password page", "deletion page") and 'class="notice' in answer.text
        require(said or answer.status == 503 and (answer["Retry-After"] or "page" in name), f"{name}: {answer}")
    require(holder.refresh().status == 200 and signed_in(person.browser), "those who are signed in are not served")
    with open(server.folder + "/log") as file:
        told = [line for line in file if "over the limit" in line]
    require(len(told) >= len(doors), f"{len(told)} of {len(doors)} failures are in the log")
    set_hash(former)
    require(Client(server).sign_in(person.email, PASSWORD, "d-new").status == 200, "the password has changed")
    return f"503 at {len(doors)} doors, each with its cause in the log; those who are signed in are served"


def leaked_key():
    """Presents tokens of a refresh key that leaked and was retired by force: each is refused for good."""
    server = Server(*FREE)
    person = Person(server, "owner")
    client, web = person.client, redeem(person.client, "web", code(person.browser, "web", person.email, PASSWORD)).json

    def restart():
        server.end()
        server.start(*FREE)

    first = next(key["id"] for key in server.command("keys", "list")["keys"] if key["kind"] == "refresh")
    server.command("keys", "rotate", "refresh")
    restart()
    later = client.sign_in(person.email, PASSWORD, "d-later").json
    require(server.command("keys", "retire", first, check=False).returncode != 0, "a key that is needed is retired without a word")
    server.command("keys", "retire", first, "--force")
    restart()
    for session, headers in ((person.session, {}), (web, dict(Authorization=basic("web")))):
        for _ in range(2):
            fields = dict(grant_type="refresh_token", refresh_token=session["refresh_token"], rotation_key=rotation_key())
            answer = client.form("/oauth/token", fields, **headers)
            require(answer.status == 400 and answer.error == "invalid_grant", f"a refresh: {answer}")
        answer = client.form("/oauth/introspect", dict(token=session["refresh_token"]), Authorization=basic("web"))
        require(answer.status == 200 and answer.json == {"active": False}, f"introspection: {answer}")
        for name in ("refresh_token", "revocation_handle"):
            answer = client.form("/oauth/revoke", dict(token=session.get(name, "none")), **headers)
            require(answer.status in (200, 400), f"revocation: {answer}")
    require(Holder(client, later).refresh().status == 200, "a session of the new key has ended")
    again = client.sign_in(person.email, PASSWORD, "d-again")
    require(again.status == 200 and Holder(client, again.json).refresh().status == 200, "the owner cannot sign in again")
    ids = [server.command("keys", "rotate", "refresh")["ids"][0] for _ in range(2)]
    require(first not in ids, f"the name {first} is given to a new key")
    return "10 requests refused for good; sessions of the new key go on"


def who_was_it():
    """Signs in to the owner's account in every way, from a place each, and fails from others: the log must tell which and where, also
    after the address was changed and the account deleted."""
    server = Server(*FREE, "--issuer", ISSUER, administered=True)
    began = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    person = Person(server, "owner")
    key, codes, places = person.add_passkey(), person.recovery_codes(), {}
    device = person.client.form("/oauth/device_authorization", dict(client_id="cli")).json
    person.press("/device", "look", user_code=device["user_code"])
    person.browser.submit("/device", action="allow", user_code=device["user_code"])

    def forged(client):
        proof = key.get(client.post("/v1/sign-in/passkey/options").json).replace('"signature": "', '"signature": "AAAA')
        return client.post("/v1/sign-in/passkey", dict(passkey=proof, device=install("d-3")))

    def recover(browser):
        return press(browser, "/recover", "recover", email=person.email, recovery_code=codes[0])

    # What the log calls a way, and the status of a sign-in by it, from the next place.
    for way, sign_in in {
        "password": lambda client, _: client.sign_in(person.email, PASSWORD, "d-1").status,
        "passkey": lambda client, _: 200 if unlocks(client, key) else 401, "recovery_code": lambda _, browser: recover(browser).status,
        "authorization_code": lambda client, _: redeem(client, "web", code(person.browser, "web", person.email, PASSWORD)).status,
        "device_code": lambda client, _: client.form("/oauth/token", dict(
            grant_type="urn:ietf:params:oauth:grant-type:device_code", device_code=device["device_code"], client_id="cli")).status,
        "password on a page": lambda _, browser: press(browser, "/sign-in", "sign-in", email=person.email.upper(), password=PASSWORD).status,
        "password for a cookie": lambda client, _: client.post("/v1/session", dict(email=person.email, password=PASSWORD), Origin=ISSUER).status,
        "wrong": lambda client, _: client.sign_in(person.email, "a wrong password", "d-2").status,
        "wrong key": lambda client, _: forged(client).status, "wrong code": lambda _, browser: recover(browser).status,
        "stranger": lambda client, _: client.sign_in("unknown@example.org", "a wrong password", "d-4").status,
    }.items():
        places[way] = f"127.0.60.{len(places) + 1}"
        status = sign_in(Client(server, places[way]), Browser(server, places[way]))
        require(status in ((400, 401) if way.startswith(("wrong", "stranger")) else (200, 303)), f"{way}: {status}")

    def entries(account, *more):
        return server.command("audit", "list", "--account", account, "--since", began, "--limit", "500", *more)["entries"]

    def check(listed, name):
        for way, place in places.items():
            # What no passkey has signed says nothing of an account.
            if way in ("stranger", "wrong key"):
                continue
            found = [(entry["action"], json.loads(entry["details"]).get("way")) for entry in listed if entry.get("address") == place]
            told = "sign_in.refused" in dict(found) if way.startswith("wrong") else ("session.began", way.split(" ")[0]) in found
            require(told, f"{name} does not tell of {way} from {place}: {found}")

    for name in (person.email, person.email.upper(), person.id):
        check(entries(name), name)
    check(server.administer("GET", f"/audit?account={person.id}&since={began}&limit=500").json["audit"], "HTTP")
    require(not server.command("audit", "list", "--account", person.id, "--since", "2099-01-01")["entries"], "--since has no effect")
    hashed = command("admin", "audit", "hash", "Unknown@Example.org", "--data", server.folder + "/data").stdout.strip()
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
    flags = [*FREE, "--issuer", ISSUER]
    server = Server(*flags, administered=True)
    who = {name: Person(server, name) for name in (
        "deleted", "deleted-page", "deleted-admin", "disabled", "enabled", "keyless", "withdrawn", "changed", "reset", "moved", "spent", "remade", "ended",
        "ended-admin", "taken", "passwordless")}
    client = Client(server)
    keys = {name: who[name].add_passkey() for name in ("keyless", "taken", "passwordless")}
    recovery = {name: who[name].recovery_codes() for name in ("spent", "remade", "taken")}
    apps = {name: redeem(client, "web", code(who[name].browser, "web", who[name].email, PASSWORD)).json for name in ("withdrawn", "taken", "reset")}
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

    def done(answer):
        require(answer.status in (200, 204), f"{answer}")

    def api(method, path, name, **fields):
        done(client.request(method, path, json.dumps(fields) if fields else None, {**JSON, "Authorization": bearer(who[name].session)}))

    api("DELETE", "/v1/me", "deleted", password=PASSWORD)
    done(who["deleted-page"].press("/account/delete", "delete", typed_email=who["deleted-page"].email, password=PASSWORD))
    server.command("accounts", "delete", who["deleted-admin"].email)
    server.command("accounts", "disable", who["disabled"].email)
    server.command("accounts", "enable", who["enabled"].email)
    who["keyless"].press("/account/security", "remove-passkey", passkey_id=keys["keyless"].name)
    who["withdrawn"].press("/account/apps", "remove", app="web")
    api("POST", "/v1/password", "changed", current=PASSWORD, new=NEW, end_others=True)
    done(client.post("/v1/password-reset/confirm", dict(token=waiting["reset"], new_password=NEW)))
    press(who["moved"].browser, "/account/email/confirm?token=" + links["moved"], "use", token=links["moved"])
    require(who["spent"].recovers(recovery["spent"][0]), "a recovery code does not work")
    who["remade"].recovery_codes()
    api("POST", "/v1/sign-out", "ended")
    server.command("sessions", "end", "--account", who["ended-admin"].email)
    server.command("accounts", "take-back", who["taken"].email)
    who["passwordless"].press("/account/security", "remove-password")

    def check(how):
        def alike(condition, words):
            require(condition, f"{how}: {words}")

        def ended(session):
            return client.get("/v1/me", Authorization=bearer(session)).status == 401

        for name in ("deleted", "deleted-page", "deleted-admin"):
            alike(not who[name].opens(PASSWORD) and who[name].facts()["state"] == "deleted", f"{name}: the account is back")
        alike(client.sign_in(who["disabled"].email, PASSWORD, "d").error == "account_disabled", "a disabled account is enabled")
        alike(who["enabled"].opens(PASSWORD), "an enabled account is disabled")
        alike(not unlocks(client, keys["keyless"]) and not unlocks(client, keys["taken"]), "a removed passkey signs in")
        alike(unlocks(client, keys["passwordless"]), "a passkey is lost")
        for name in ("changed", "reset", "taken", "passwordless"):
            alike(not who[name].opens(PASSWORD), f"{name}: the former password signs in")
        for name, codes in recovery.items():
            alike(not who[name].recovers(codes[0]), f"{name}: the recovery code signs in")
        for name, app in apps.items():
            alike(not who[name].credentials()["consents"], f"{name}: the consent is back")
            alike(ended(app), f"{name}: the client's session is back")
        for name in ("deleted", "disabled", "ended", "ended-admin", "taken", "reset"):
            alike(ended(who[name].session), f"{name}: the session is back")
            answer = client.refresh(who[name].session["refresh_token"])
            alike(answer.status == 400, f"{name}: the session refreshes: {answer.status}")
            # Who signed out in the app is in the browser still.
            alike(name == "ended" or not signed_in(who[name].browser), f"{name}: the browser is signed in")
        alike(who["moved"].facts()["email"] == "new-moved@example.com", "the former address is back")
        for token in (*waiting.values(), printed):
            answer = client.post("/v1/password-reset/confirm", dict(token=token, new_password="a thief's password"))
            alike(answer.status == 400, f"a code of before sets a password: {answer.status}")
        for name, link in links.items():
            browser = who[name].browser if signed_in(who[name].browser) else who[name].visit()
            press(browser, "/account/email/confirm?token=" + link, "use", token=link)
        alike(who["spent"].facts()["email"] == who["spent"].email, "a link of before moves the account")

    server.end()
    lost = {each["account"] for each in server.command("database", "restore", backup)["lostPasswords"]}
    server.start(*flags)
    who["moved"].email = "new-moved@example.com"
    check("restored")
    server.end()
    for suffix in ("", "-wal", "-shm"):
        pathlib.Path(f"{server.folder}/data/registry.sqlite{suffix}").unlink(missing_ok=True)
    shutil.copy(backup + "/registry.sqlite", server.folder + "/data/registry.sqlite")
    server.start(*flags)
    check("put there by hand")
    require({who[name].id for name in ("changed", "reset")} <= lost, f"the command names {lost}")
    return f"nothing came back to {len(who)} accounts, twice; {len(lost)} have to set a password, and are named"


ATTACKS = [restarts, disk_full, no_memory, leaked_key, who_was_it, restored]
