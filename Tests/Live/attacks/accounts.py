"""Attacks on accounts by what everyone may send."""
import os, re, secrets, shutil, tempfile, time

from attacks.person import PASSWORD, Person
from attacks.target import Client, Holder, Server, bearer, install, require


def facts(answer):
    """All that an answer tells, without its time and its number."""
    return answer.status, [field for field in answer.fields if field[0].lower() not in ("date", "x-request-id")], answer.body


def enumeration():
    """Compares the answers for an address that has an account with those for one that has none, also beyond the limit of guesses."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    Client(server).sign_up("known@example.org", PASSWORD)
    server.stop()
    server.start("--sign-up", "confirmed", "--rate-limits", "none")
    client, compared = Client(server), 0

    def sign_in(email):
        return client.sign_in(email, "a wrong password", "d-stranger")

    def sign_up(email):
        return client.post("/v1/sign-up", dict(email=email, password=PASSWORD, username="Ada", device=install("d")))

    def weak_sign_up(email):
        return client.post("/v1/sign-up", dict(email=email, password="password", username="Ada", device=install("d")))

    def reset(email):
        return client.post("/v1/password-reset", dict(email=email))

    for request, times in ((reset, 3), (sign_up, 3), (weak_sign_up, 1), (sign_in, 12)):
        for number in range(times):
            one, other = facts(request("known@example.org")), facts(request("empty@example.org"))
            if one[0] == 429 and request is sign_in:
                # The time to wait may pass a second between the two.
                one, other = (re.sub(r"t=\d+|'Retry-After', '\d+'", "", str(each)) for each in (one, other))
            require(one == other, f"{request.__name__} {number + 1}: {one} is not {other}")
            compared += 1
    return f"{compared} pairs of answers are the same"


def takeover():
    """Signs up with another person's address, and waits until its owner confirms: the attacker's password must not work."""
    server = Server("--sign-up", "confirmed")
    attacker, owner, email = Client(server, "127.0.7.1"), Client(server, "127.0.8.1"), "owner@example.org"
    attacker.post("/v1/sign-up", dict(email=email, password="the attacker's secret", username="Mallory", device=install("d-attacker")))
    mails = server.mailed(1)
    require(mails, "no mail was written")
    token = re.search(r"^(hsl1\.[\w-]+)\r?$", mails[0], re.M)
    require(token, "the mail has no code")
    answer = owner.post("/v1/sign-up/confirm", dict(token=token[1], password=PASSWORD, device=install("d-owner")))
    require(answer.status == 201, f"the owner cannot confirm: {answer.status} {answer.text}")
    require(attacker.sign_in(email, "the attacker's secret", "d-attacker").status == 401, "the attacker's password works")
    require(owner.sign_in(email, PASSWORD, "d-owner").status == 200, "the owner's password does not work")
    again = attacker.post("/v1/sign-up/confirm", dict(token=token[1], password="the attacker's secret", device=install("d-attacker")))
    require(again.status == 400, f"the code works twice: {again.status}")
    return "the password is the one that the owner confirmed with; the code works once"


def old_sign_in():
    """Ends the owner's other sessions from a phone that has been signed in for longer than `--reauthenticate-after`."""
    server = Server("--sign-up", "open", "--rate-limits", "none", "--reauthenticate-after", "1s")
    client = Client(server)
    mine = client.sign_up("owner@example.org", PASSWORD, "d-phone")
    time.sleep(2.1)
    other = client.sign_in("owner@example.org", PASSWORD, "d-laptop").json
    token = bearer(mine)
    refreshed = client.form("/oauth/token", dict(
        grant_type="refresh_token", refresh_token=mine["refresh_token"], rotation_key="A" * 22)).json
    ways = [
        ("POST", "/v1/sessions/end-others", token), ("DELETE", "/v1/sessions", token), ("DELETE", "/v1/sessions/" + other["session_id"], token),
        ("POST", "/v1/sessions/end-others", "Bearer " + refreshed["access_token"]),
    ]
    for method, path, authorization in ways:
        answer = client.request(method, path, None, {"Authorization": authorization})
        require(answer.status == 403 and answer.error == "reauthentication_required", f"{method} {path}: {answer.status}")
    for path, fields in (("/v1/reauthenticate", dict(password="a wrong password")),
                         ("/v1/password", dict(current="a wrong password", new="another long secret", end_others=True))):
        require(client.post(path, fields, Authorization=token).status == 403, f"{path} took a wrong password")
    answer = client.request("DELETE", "/v1/me", "{}", {"Authorization": token, "Content-Type": "application/json"})
    require(answer.status == 403, f"the account was deleted without a password: {answer.status}")
    require(client.get("/v1/me", Authorization=bearer(other)).status == 200, "the other session has ended")
    proof = client.post("/v1/reauthenticate", dict(password=PASSWORD), Authorization=token)
    require(proof.status == 200, "the owner's password is refused")
    for method, path, authorization in ways:
        answer = client.request(method, path, None, {"Authorization": authorization})
        require(answer.status == 403, f"a copy of an earlier token gains from the owner's password: {method} {path}: {answer.status}")
    ended = client.request("POST", "/v1/sessions/end-others", None, {"Authorization": bearer(proof.json)})
    require(ended.status == 200 and ended.json["ended"] == 1, f"the owner cannot end the other session: {ended.status}")
    return f"{len(ways) + 3} ways refused; with the password it works"


def copied_token():
    """Copies a refresh token, and refreshes before the owner does, or after: two holders are told apart, and the session ends for both."""
    server, outcomes = Server("--sign-up", "open", "--rate-limits", "none"), []
    client = Client(server)
    for first in ("owner", "thief"):
        session = client.guest("d-" + first)
        holders = {"owner": Holder(client, session), "thief": Holder(Client(server, "127.0.7.1"), session)}
        second = "thief" if first == "owner" else "owner"
        require(holders[first].refresh().status == 200, "the first holder cannot refresh")
        answer = holders[second].refresh()
        require(answer.status == 400 and "access_token" not in answer.json, f"{second}: {answer.text}")
        require(answer.json.get("reason") == "token_reuse", f"{second} is not told why: {answer.text}")
        require(holders[first].refresh().status == 400, f"the session goes on for the {first}")
        require(client.get("/v1/me", Authorization=bearer(session)).status == 401, "an access token still works")
        outcomes.append(second)
    return f"detected at the first refresh of the {' and of the '.join(outcomes)}; the session ended"


def administrators():
    """Guesses the token of an administrator where there is one, and tries those of users."""
    folder = tempfile.mkdtemp(prefix="attack-")
    try:
        secret = secrets.token_hex(32)
        with open(folder + "/token", "w") as file:
            file.write(secret + "\n")
        os.chmod(folder + "/token", 0o600)
        server = Server("--sign-up", "open", "--admin-token-file", folder + "/token")
    finally:
        shutil.rmtree(folder)
    client, path = Client(server, "127.0.7.1"), "/admin/v1/accounts"
    user = Client(server, "127.0.8.1").sign_up("owner@example.org", PASSWORD)
    ways = [{}, dict(Authorization=bearer(user)), dict(Authorization="Bearer"), dict(Authorization="Bearer "), dict(Authorization="Basic " + secret),
            dict(Cookie="token=" + secret), dict(Authorization=f"Bearer {secret[:-1]}"), dict(Authorization=f"Bearer {secret}0"),
            dict(Authorization="Bearer " + secret.upper())]
    for headers in ways:
        answer = client.get(path, **headers)
        require(answer.status == 401 and b"owner" not in answer.body, f"{headers}: {answer.status}")
    require(client.get(path + "?token=" + secret).status == 401, "a token in the address is accepted")
    statuses = [client.get(path, Authorization="Bearer " + secrets.token_hex(32)).status for _ in range(200)]
    require(set(statuses) == {401, 429} and statuses.count(401) <= 30, f"{statuses.count(401)} of 200 guesses were checked")
    answer = Client(server, "127.0.8.1").get(path, Authorization="Bearer " + secret, Origin="https://evil.example.com")
    require(answer.status == 200 and not answer["Access-Control-Allow-Origin"], f"the administrator: {answer.status} {answer.fields}")
    return f"{len(ways) + 1} ways refused; {statuses.count(401)} of 200 guesses were checked"


def event_streams():
    """Opens 60 event streams of one guest, from many addresses."""
    server = Server("--sign-up", "open")
    token, connections = bearer(Client(server).guest()), []
    for number in range(60):
        connection = server.connect(f"127.0.3.{number + 1}", 5)
        connection.sendall(f"GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: {token}\r\n\r\n".encode())
        head = connection.recv(4096)
        require(b" 200 " in head.split(b"\r\n")[0] or b" 429 " in head.split(b"\r\n")[0], f"{head[:60]}")
        connections.append(connection)
    time.sleep(0.5)
    alive = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            piece = b"-"
            while piece:
                piece = connection.recv(65536)
        except BlockingIOError:
            alive += 1
        except OSError:
            pass
        connection.close()
    require(0 < alive <= 4, f"{alive} of 60 streams stay open")
    require(Client(server, "127.0.8.1").get("/health").status == 200, "an honest request fails")
    return f"{alive} of 60 stay open (limit 4)"


def obvious_passwords():
    """Sets passwords that are little more than the name of the service or of the owner, at each place that takes a new one."""
    issuer = "https://id.shop.example.org"
    server = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", issuer, "--site-name", "The Corner Shop", administered=True)
    person = Person(server, "adalovelace")
    client, browser = person.client, person.browser
    service = ["example.org1", "Example.org", "shop.example.org!", "id.shop.example.org", "1example.org1", "EXAMPLE.ORG22", "\uff45xample.org1",
               "example.orgexample.org", "shopshop", "ID.SHOP.EXAMPLE.ORG12", "example1234", "The Corner Shop1"]
    own = ["adalovelace1", "AdaLovelace", "adalovelace@example.org", "adalovelace@example.org1", "1adalovelaceadalovelace"]
    reset = server.command("accounts", "reset", person.email)["reset"]["code"]
    device = dict(device=install("d-new"))
    guest = bearer(client.guest("d-guest"))
    email = person.email

    def form(path, action, **fields):
        browser.load("GET", path)
        return browser.submit(path, action=action, **fields)

    doors = {
        "sign-up": lambda password: client.post("/v1/sign-up", dict(device, email=email, password=password, username="Ada")),
        "upgrade": lambda password: client.post("/v1/upgrade", dict(device, email=email, password=password, username="Ada"), Authorization=guest),
        "change": lambda password: client.post("/v1/password", dict(current=PASSWORD, new=password, end_others=False), Authorization=bearer(person.session)),
        "reset": lambda password: client.post("/v1/password-reset/confirm", dict(token=reset, new_password=password)),
        "sign-up page": lambda password: form("/sign-up", "sign-up", name="Ada", email=email, new_password=password),
        "reset page": lambda password: form("/reset-password?token=" + reset, "reset", token=reset, new_password=password),
        "change page": lambda password: form("/account/security", "change-password", current_password=PASSWORD, new_password=password),
        "administrator": lambda password: server.administer("POST", "/accounts", dict(email=email, password=password)),
    }
    taken = []
    for password in service + own:
        for name, door in doors.items():
            answer = door(password)
            said = answer.status == 400 and answer.error == "weak_password" if "page" not in name else (
                answer.status in (200, 400) and 'id="new_password-error"' in answer.text)
            if not said:
                taken.append(f"{password} at {name}: {answer.status}")
        require(not taken, f"{'; '.join(taken[:8])}")
        # The command knows the owner's name, and not the service's.
        answer = server.command("accounts", "create", email, "--password", text=password + "\n", check=False)
        require(answer.returncode and (password in service or "name" in answer.stderr), f"{password} at the command: {answer.stderr}")
    require(person.opens(PASSWORD), "the password has changed")
    return f"{len(service + own)} passwords refused at {len(doors)} doors"


ATTACKS = [enumeration, takeover, old_sign_in, copied_token, administrators, event_streams, obvious_passwords]
