"""Attacks on accounts by what everyone may send."""
from attacks.person import PASSWORD, Person, press
from attacks.target import Client, Server, bearer, install, require


def event_streams():
    """Opens 60 event streams of one guest, from many addresses: only the newest stay open."""
    server, connections = Server("--sign-up", "open"), []
    token = bearer(Client(server).guest())
    for number in range(60):
        connection = server.connect(f"127.0.3.{number + 1}", 5)
        connection.sendall(f"GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: {token}\r\n\r\n".encode())
        require(connection.recv(4096).startswith(b"HTTP/1.1 200 "), f"stream {number + 1} is refused")
        connections.append(connection)
    # Each but the last four is read to its end.
    for connection in connections[:-4]:
        while connection.recv(65536):
            pass
    for connection in connections[-4:]:
        connection.settimeout(0.1)
        try:
            while connection.recv(65536):
                pass
        except TimeoutError:
            continue
        require(False, "a stream within the limit has ended")
    return "the newest 4 of 60 stay open"


def obvious_passwords():
    """Sets passwords that are little more than the name of the service or of the owner, at each place that takes a new one."""
    server = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", "https://id.shop.example.org", "--site-name", "The Corner Shop",
                    administered=True)
    person = Person(server, "adalovelace")
    client, browser, email = person.client, person.browser, person.email
    service = ["example.org1", "1example.org1", "EXAMPLE.ORG22", "\uff45xample.org1", "example.orgexample.org", "shopshop", "ID.SHOP.EXAMPLE.ORG12",
               "example1234", "The Corner Shop1"]
    own = ["AdaLovelace", "adalovelace@example.org1", "1adalovelaceadalovelace"]
    reset = server.command("accounts", "reset", email)["reset"]["code"]
    account = dict(email=email, username="Ada", device=install("d-new"))
    guest = bearer(client.guest("d-guest"))
    doors = {
        "sign-up": lambda password: client.post("/v1/sign-up", dict(account, password=password)),
        "upgrade": lambda password: client.post("/v1/upgrade", dict(account, password=password), Authorization=guest),
        "change": lambda password: client.post("/v1/password", dict(current=PASSWORD, new=password, end_others=False), Authorization=bearer(person.session)),
        "reset": lambda password: client.post("/v1/password-reset/confirm", dict(token=reset, new_password=password)),
        "sign-up page": lambda password: press(browser, "/sign-up", "sign-up", name="Ada", email=email, new_password=password),
        "reset page": lambda password: press(browser, "/reset-password?token=" + reset, "reset", token=reset, new_password=password),
        "change page": lambda password: press(browser, "/account/security", "change-password", current_password=PASSWORD, new_password=password),
        "administrator": lambda password: server.administer("POST", "/accounts", dict(email=email, password=password)),
    }
    for password in service + own:
        for name, door in doors.items():
            answer = door(password)
            if "page" in name:
                require(answer.status in (200, 400) and 'id="new_password-error"' in answer.text, f"{password} at {name}: {answer.status}")
            else:
                require(answer.status == 400 and answer.error == "weak_password", f"{password} at {name}: {answer}")
        # The command knows the owner's name, and not the service's.
        answer = server.command("accounts", "create", email, "--password", text=password + "\n", check=False)
        require(answer.returncode and (password in service or "name" in answer.stderr), f"{password} at the command: {answer.stderr}")
    require(person.opens(PASSWORD), "the password has changed")
    return f"{len(service + own)} passwords refused at {len(doors)} doors"


ATTACKS = [event_streams, obvious_passwords]
