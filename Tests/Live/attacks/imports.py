"""Attacks by exports of other systems: broken, cut off and huge ones, with values of other kinds, and hashes that cost too much."""
import copy, hashlib, json, os, random, signal, sqlite3, subprocess, tempfile, threading, time

import kit.server
from kit.web import base64url
from attacks.target import Client, Holder, Server, require, until

SALT, HASH = "MDEyMzQ1Njc4OWFiY2RlZg", "BVALGMmC/K/8ELErc5VgJxyPFApArIZRCQsqjEgZWJ4"
PBKDF2 = f"$pbkdf2-sha256$i=1000,l=32${SALT}${HASH}"
AT = "2024-03-01T10:20:30Z"
KEY = dict(public_key="pQECAyYgASFYIJc7vE9pbeszSQiLwCiYSl6-8q02UnFFgQK4sR4m7DCyIlggmq2KOJ-iHL9A3RTL_8Pone9T0U9610Lcy1WFWacVuUM")

# A record of each format with an ID and an address of its own, and all that is read of one.
SAMPLES = {
    "handstamp": lambda id, email: dict(
        id=id, email=email, email_verified=True, email_verified_at=AT, name="Ada", created_at=AT, disabled=False, disabled_at=None, groups=["staff"],
        identity=dict(issuer="https://accounts.google.com", subject=id), password_hash=PBKDF2, password_changed_at=AT,
        passkeys=[dict(KEY, id=base64url(hashlib.sha256(id.encode()).digest()), user_handle="AAECAw", sign_count=3, backup_eligible=True, backed_up=True,
                       transports=["internal"], name="phone", created_at=AT, last_used_at=AT)]),
    "gotrue": lambda id, email: dict(
        id=id, email=email, encrypted_password="$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO",
        email_confirmed_at="2024-03-01 10:20:30.123456+00", created_at="2024-03-01 10:20:00.5+00", raw_user_meta_data=dict(full_name="Ada"),
        banned_until=None, deleted_at=None, is_anonymous=False, phone=None),
    "keycloak": lambda id, email: dict(
        id=id, createdTimestamp=1709288400123, username="ada", enabled=True, emailVerified=True, firstName="Ada", lastName="Lovelace", email=email,
        groups=["/staff"], federatedIdentities=[dict(identityProvider="google", userId=id)], credentials=[dict(
            type="password", createdDate=1709288400000, secretData=json.dumps(dict(value=HASH + "=", salt=SALT + "==")),
            credentialData=json.dumps(dict(hashIterations=600, algorithm="pbkdf2-sha256")))]),
    "firebase": lambda id, email: dict(
        localId=id, email=email, emailVerified=True, displayName="Ada", createdAt="1709288400123", disabled=False,
        providerUserInfo=[dict(providerId="google.com", rawId=id)], mfaInfo=None, phoneNumber=None),
    "auth0": lambda id, email: dict(
        user_id=id, email=email, email_verified=True, name="Ada", created_at={"$date": AT}, blocked=False, passwordHash=PBKDF2, phone_number=None,
        multifactor=None, identities=[dict(provider="google-oauth2", user_id=id)]),
    "kratos": lambda id, email: dict(
        id=id, state="active", traits=dict(email=email, name=dict(first="Ada", last="Lovelace")), created_at=AT,
        verifiable_addresses=[dict(value=email, verified=True, via="email", verified_at=AT)],
        credentials=dict(password=dict(config=dict(hashed_password=PBKDF2)), oidc=dict(identifiers=["google:" + id]))),
    "django": lambda id, email: dict(model="auth.user", pk=id, fields=dict(
        password=f"pbkdf2_sha256$1000$salt${HASH}=", username=id, first_name="Ada", last_name="Lovelace", email=email, is_active=True, date_joined=AT,
        groups=[["staff"]])),
    "devise": lambda id, email: dict(
        id=id, email=email, encrypted_password=PBKDF2, name="Ada", confirmed_at=AT, created_at=AT, unconfirmed_email=None, otp_secret=None,
        provider="google_oauth2", uid=id),
}
CONTAINED = {"keycloak", "firebase"}
TABLES = {"gotrue": "id,email,encrypted_password,email_confirmed_at,created_at,raw_user_meta_data",
          "devise": "id,email,encrypted_password,confirmed_at,created_at,name"}
WRONG = [None, True, 0, -1, 2**63, -2**63, 1.5, 1e300, "", " ", "x" * 5000, "\u202e💥", [], [[]], {}, {"a": {}}, [None], "2024-13-45T99:99:99Z",
         "9" * 400, "-" * 20, [{}], {"$date": {}}, "$$$$", "{", "[1"]


def paths(value, path=()):
    """The places of all members."""
    if path:
        yield path
    for key, member in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(member, path + (key,))


def changed(record, path, value):
    record = copy.deepcopy(record)
    place = record
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return record


def damages(text):
    """Texts that are not one JSON object, by what is wrong."""
    def more(members):
        return text[:-1] + b", " + members + b"}"

    return {
        "cut": text[:len(text) // 2], "begins late": text[len(text) // 2:], "without an end": text[:-1], "with more": text + b"x", "twice": text + b"{}",
        "comma": more(b""), "a name twice": more(text[1:text.index(b":")] + b": 1"), "an array": b"[" + text + b"]", "number": b"5", "text": b'"x"',
        "null": b"null", "bytes": more(b'"x": "\xff\xfe"'), "control": more(b'"x": "\x01"'), "NaN": more(b'"x": NaN'),
        "infinite": more(b'"x": 1e999999'), "plain name": more(b"x: 1"), "quotes": text.replace(b'"', b"'"),
        "deep": more(b'"x": ' + b"[" * 40 + b"]" * 40), "very deep": more(b'"x": ' + b"[" * 60_000 + b"]" * 60_000),
        "surrogate": more(b'"x": "\\ud800"'), "null bytes": b"\0" * 100, "binary": random.randbytes(300).replace(b"\n", b""),
        "too long": more(b'"x": "' + b"x" * (1 << 20) + b'"')}


def run(server, path, system=None, words=("import",)):
    """The report of a command, and its most memory in MB."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([kit.build.operators(kit.server.PROGRAM), "admin", *words, path, *(["--from", system] if system else []), "--data", server.folder + "/data",
                                    "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        require(process.returncode in (0, 1) and text, f"{system or words}: the command ended with {process.returncode}: {errors.read()[-500:]}")
    return json.loads(text), usage.ru_maxrss / 1000


def post(server, system, text):
    answer = Client(server).request("POST", "/admin/v1/accounts/import?from=" + system, text, {
        "Authorization": "Bearer " + server.token, "Content-Type": "application/x-ndjson"})
    require(answer.status == 200, f"{system} over HTTP: {answer}")
    return answer.json


def stored(server):
    """The accounts as they would be exported, by their IDs."""
    with tempfile.TemporaryDirectory() as folder:
        server.command("export", folder + "/all")
        with open(folder + "/all") as file:
            return {each["id"]: each for each in map(json.loads, file)}


def broken_exports():
    """Imports exports of each system with records that are damaged, and with values of another kind in each place: each bad one is refused
    with its line and a reason, and the good ones around it are stored whole. Then breaks documents and tables in the middle."""
    server = Server("--sign-up", "closed", administered=True)
    place, expected, most, created, count = server.folder + "/export", {}, 0, 0, 0
    for name in SAMPLES:
        # Each record with whether it has to be taken; `None` if it may be.
        records, first = [], 2 if name in CONTAINED else 1

        def sample():
            return SAMPLES[name](f"{name}-{len(records)}", f"{name}{len(records)}@example.org")

        def add(record, is_good, what="a good record"):
            records.append((record if isinstance(record, bytes) else json.dumps(record).encode(), is_good, what))

        add(sample(), True)
        if name not in CONTAINED:
            for what, text in damages(json.dumps(sample()).encode()).items():
                add(text, False, what)
                add(sample(), True)
        for path in paths(sample()):
            # Databases cut texts at a null byte, or refuse them.
            for value in ["\0", "ada\0", *random.sample(WRONG, 6)]:
                add(changed(sample(), path, value), None, f"{value!r:.20} at {path}")
        add(sample(), True)
        texts = [text for text, *_ in records]
        with open(place, "wb") as file:
            file.write(b'{"realm": "x", "users": [\n' + b",\n".join(texts) + b"\n]}\n" if name in CONTAINED else b"\n".join(texts) + b"\n")
        report, megabytes = run(server, place, name)
        refused = {each["line"] - first: each for each in report["refusals"]}
        require(len(refused) == report["refused"] == len(report["refusals"]) and max(refused) < len(records), f"{name}: {report}")
        require(all(each["code"] and each["hint"] for each in refused.values()), f"{name}: without a reason: {report['refusals']}")
        for number, (_, is_good, what) in enumerate(records):
            require(is_good in (None, number not in refused), f"{name}: {what} in line {number + first}: {refused.get(number, 'taken')}")
            if is_good or number in refused:
                expected[f"{name}-{number}"] = number not in refused
        left = len(records) - report["created"] - report["refused"]
        # An object of another model is no account.
        require(left == 0 or name == "django" and 0 < left < len(records) / 2, f"{name}: {left} of {len(records)} are missing in {report}")
        again, _ = run(server, place, name)
        require(again["created"] == again["merged"] == 0, f"{name}: a repeat creates {again['created']}")
        most, created, count = max(most, megabytes), created + report["created"], count + len(refused)
        for text in (b"", b"  \n\n", b"[]", b"{}", b"hello", b"null", b"<!doctype html><html></html>"):
            report = post(server, name, text)
            require(report["refused"] >= 1 and not report["created"], f"{name}: {text}: {report}")
        for what, text in damages(json.dumps(sample()).encode()).items() if name in CONTAINED else ():
            if len(text) < 30_000:
                report = post(server, name, b'{"users": [\n' + texts[0] + b",\n" + text + b",\n" + texts[-1] + b"\n]}")
                require(report["refused"] and all(each["line"] > 2 for each in report["refusals"]), f"{name}: {what}: {report}")
                # The good part of it may count.
                require(report["unchanged"] >= 1 and report["created"] <= 1, f"{name}: {what}: {report}")
                created, count = created + report["created"], count + 1
    for name, head in TABLES.items():
        good = f't-{name},table-{name}@example.org,"{PBKDF2}",2024-03-01 10:20:30 UTC,2024-03-01 10:20:30 UTC,\n'
        for text in ("x,y\n", good.replace("t-", "u-").strip() + ",a,b\n", 'x,"a"b,,,,\n', 'x,"y,,,,\n', "x,y@example.org,,,,", "x,\udcff\udcfe@a.org,,,,\n",
                     "x,\0,,,,\n", "x,,,,,\n", "x\ry,,,,,\n", "x,x@example.org,,yesterday,,\n", '"""""""\n'):
            report = post(server, name, (head + "\n" + good + text).encode(errors="surrogateescape"))
            require(report["created"] + report["unchanged"] == 1, f"{name} as a table, {text!r}: {report}")
            require([each["line"] for each in report["refusals"]] == [3] and report["refusals"][0]["hint"], f"{name} as a table, {text!r}: {report}")
            created, count = created + report["created"], count + 1
    found = stored(server)
    for id, is_good in expected.items():
        require((id in found) == is_good, f"{id} is {'missing' if is_good else 'stored, though its record was refused'}")
        require(not is_good or found[id].get("email") and found[id]["name"], f"{id} is half stored")
    require(len(found) == created, f"{len(found)} accounts instead of {created}")
    require(most < 300, f"an import took {most:.0f} MB")
    require(server.runs() and Client(server).get("/ready").status == 200, "the server does not serve")
    server.stop()
    return f"{count} records of {len(SAMPLES)} systems refused, each with its line; {most:.0f} MB"


def greedy_exports():
    """Imports lines, rows and documents that never end, and very many that are none: memory is bounded, and what is good is stored."""
    server, most, size = Server("--sign-up", "closed", administered=True), 0, 6 << 20
    good = lambda name: json.dumps(SAMPLES[name](f"{name}-good", f"{name}@example.org")).encode()
    cases = {
        "a line": ("handstamp", [b'{"id": "', b"x" * size, b'"}\n', good("handstamp"), b"\n"], "too_long", 1),
        "a line without an end": ("auth0", [good("auth0"), b"\n{", b"x" * size], "too_long", 1),
        "brackets": ("kratos", [b"[", good("kratos"), b",", b"[" * size], None, 1),
        "a text": ("keycloak", [b'{"users": [\n', good("keycloak"), b', {"id": "', b"x" * size], "truncated", 1),
        "a quote": ("gotrue", [b"id,email\n1,table@example.org\n2,", b'"' + b"x" * size], None, 1),
        "names": ("devise", [b"a," * (size // 2), b"\n"], None, 0),
        "lines of nothing": ("handstamp", [b"x\n" * 150_000], "invalid_json", 0), "empty lines": ("auth0", [b"\n" * size, good("auth0"), b"\n"], None, 1),
        "objects of nothing": ("firebase", [b'{"users": [', b"{}," * 50_000, good("firebase"), b"]}"], "no_address", 1)}
    for what, (name, pieces, code, taken) in cases.items():
        with open(server.folder + "/export", "wb") as file:
            file.writelines(pieces)
        report, megabytes = run(server, server.folder + "/export", name)
        codes = {each["code"] for each in report["refusals"]}
        require(report["created"] + report["unchanged"] == taken, f"{what}: {report['created']} are stored: {codes}")
        require(codes if code == None and what != "empty lines" else codes == ({code} if code else set()), f"{what}: {codes}")
        require(len(report["refusals"]) <= 10_000 and report["refused"] >= len(report["refusals"]), f"{what}: {len(report['refusals'])} are listed")
        require(megabytes < 300, f"{what} took {megabytes:.0f} MB")
        most = max(most, megabytes)
    with open(server.folder + "/tokens", "wb") as file:
        file.writelines([b'{"account": "handstamp-good", "token": "', b"x" * (8 * size), b'"}\n', b"x\n" * 150_000,
                         b'{"account": "auth0-good", "token": "t"}\n'])
    report, megabytes = run(server, server.folder + "/tokens", words=("sessions", "import"))
    require(report["imported"] == 1 and report["refused"][0]["line"] == 1 and len(report["refused"]) <= 1000,
            f"former tokens: {report['imported']} {report['refused'][:2]}")
    require(megabytes < 300, f"former tokens took {megabytes:.0f} MB")
    require(Client(server).get("/ready").status == 200, "the server does not serve")
    server.stop()
    return f"{len(cases)} exports, with at most {most:.0f} MB"


def interrupted_imports():
    """Kills an import again and again: each account is stored whole or not at all, and the last run stores the rest."""
    server, total, kills = Server("--sign-up", "closed", administered=True), 3000, 0
    records = {f"handstamp-{number}": SAMPLES["handstamp"](f"handstamp-{number}", f"{number}@example.org") for number in range(total)}
    with open(server.folder + "/export", "w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records.values())
    base = sqlite3.connect(server.folder + "/data/registry.sqlite", timeout=10)

    def count():
        return base.execute("SELECT count(*) FROM account").fetchone()[0]

    for _ in range(5):
        there = count()
        process = subprocess.Popen([kit.build.operators(kit.server.PROGRAM), "admin", "import", server.folder + "/export", "--from", "handstamp", "--data",
                                    server.folder + "/data"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: count() > there or process.poll() is not None, "no account is imported", 60, 0.01)
        time.sleep(random.random() / 10)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    base.close()
    before = stored(server)
    # Each, with its passkey and its group, which are in other tables.
    for id, found in before.items():
        require(found["groups"] == ["staff"] and len(found["passkeys"]) == 1 and found["identity"]["subject"] == id, f"{id} is half stored: {found}")
    report, _ = run(server, server.folder + "/export", "handstamp")
    require(report["created"] == total - len(before) and report["unchanged"] == len(before) and not report["refused"], f"the last run: {report}")
    require(stored(server).keys() == records.keys(), "an account is missing")
    require(kills, "no import was killed")
    server.stop()
    return f"{kills} kills, after which {len(before)} of {total} accounts were there"


BCRYPT = "abcdefghijklmnopqrstuuAbcdefghijklmnopqrstuvwxyzABCDE"
# Costs far beyond the limits of each kind of hash, as each system writes them. PasswordHashTests try those just beyond them.
COSTLY = {
    "handstamp": [
        f"$2b$31${BCRYPT}", f"$argon2id$v=19$m=4194304,t=1,p=1${SALT}${HASH}", f"$argon2i$v=19$m=8,t={10**30},p=1${SALT}${HASH}",
        f"$pbkdf2-sha256$i={2**31},l=32${SALT}${HASH}", f"$pbkdf2-sha256$i=9999999,l=256${SALT}${base64url(bytes(256))}",
        f"$scrypt$ln=30,r=8,p=1${SALT}${HASH}", f"$scrypt$ln=14,r=2147483648,p=1${SALT}${HASH}", f"$scrypt$ln=14,r=8,p=2147483648${SALT}${HASH}",
        f"$firescrypt$ln=30,r=8,p=1${SALT}${base64url(bytes(64))}$Bw${base64url(bytes(64))}"],
    "keycloak": [json.dumps(dict(hashIterations=rounds, algorithm=algorithm, additionalParameters=more)) for rounds, algorithm, more in (
        (2**31, "pbkdf2-sha256", {}), (2**62, "pbkdf2-sha512", {}),
        (5, "argon2", dict(type=["id"], version=["1.3"], memory=["4194304"], parallelism=["1"])),
        (2**31, "argon2", dict(type=["id"], version=["1.3"], memory=["7168"], parallelism=["1"])),
        (5, "argon2", dict(type=["i"], version=["1.0"], memory=["7168"], parallelism=["99"])))],
    "django": [
        f"pbkdf2_sha256${2**31}$salt${HASH}=", f"pbkdf2_sha1${2**62}$salt${HASH}=", f"scrypt${2**30}$salt$8$1${HASH}=",
        f"scrypt${2**62}$salt$8$1${HASH}=", f"scrypt$16384$salt$8${2**31}${HASH}=", f"argon2$argon2id$v=19$m=4194304,t=2,p=8${SALT}${HASH}",
        f"bcrypt$$2b$31${BCRYPT}"],
    "gotrue": [f"$2a$31${BCRYPT}", f"$argon2id$v=19$m=4194304,t=1,p=1${SALT}${HASH}"],
}
PLACES = {"handstamp": ["password_hash"], "keycloak": ["credentials", 0, "credentialData"], "django": ["fields", "password"],
          "gotrue": ["encrypted_password"]}
# The most that is taken: each costs seconds at every sign-in.
DEAR = [f"$pbkdf2-sha256$i=10000000,l=32${SALT}${HASH}", f"$argon2id$v=19$m=262144,t=8,p=1${SALT}${HASH}", f"$scrypt$ln=17,r=8,p=4${SALT}${HASH}"]


def costly_hashes():
    """Imports hashes that would take hours, or gibibytes: they are refused at once, and the server serves on. Then signs in, many at once, to
    accounts with the costliest that are taken."""
    server = Server("--sign-up", "open", "--rate-limits", "none", administered=True)
    client, slowest = Client(server), 0
    began, usual = time.monotonic(), server.resident()
    for name, costs in COSTLY.items():
        records = [changed(SAMPLES[name](f"{name}-{number}", f"{name}{number}@example.org"), PLACES[name], cost) for number, cost in enumerate(costs)]
        report = post(server, name, json.dumps(dict(users=records)) if name in CONTAINED else "\n".join(map(json.dumps, records)))
        strange = [(costs[number], each["code"]) for number, each in enumerate(report["refusals"]) if each["code"] != "hash_too_costly"]
        require(report["refused"] == len(costs) and not report["created"], f"{name}: {report['created']} costly hashes are taken")
        require(not strange, f"{name}: {strange}")
    seconds = time.monotonic() - began
    require(seconds < 5, f"the refusals took {seconds:.1f} s")
    report = post(server, "handstamp", "\n".join(json.dumps(dict(email=f"dear{number}@example.org", password_hash=hash))
                                                 for number, hash in enumerate(DEAR)))
    require(report["created"] == len(DEAR), f"the costliest that are allowed: {report}")
    holder, statuses = Holder(client, client.guest()), []

    def sign_in(number):
        other = Client(server, f"127.0.{40 + number}.1", timeout=60)
        try:
            statuses.append(other.sign_in(f"dear{number % len(DEAR)}@example.org", "a wrong password", f"d-{number}").status)
        except OSError:
            # The server is stopped before all have had their turn.
            statuses.append(0)

    threads = [threading.Thread(target=sign_in, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 3
    while time.monotonic() < end:
        began = time.monotonic()
        require(holder.refresh().status == 200, "a refresh fails")
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.02)
    memory = server.resident() - usual
    server.stop()
    for thread in threads:
        thread.join()
    require(set(statuses) <= {0, 401, 429, 503}, f"sign-ins: {set(statuses)}")
    require(slowest < 1.5, f"a refresh took {slowest:.1f} s beside the costliest sign-ins")
    require(memory < 1 << 20, f"the costliest sign-ins took {memory >> 10} MiB")
    return f"{sum(map(len, COSTLY.values()))} hashes refused in {seconds:.1f} s; beside the costliest that are taken, a refresh takes {slowest:.2f} s"


ATTACKS = [broken_exports, costly_hashes]
LONG = [greedy_exports, interrupted_imports]
