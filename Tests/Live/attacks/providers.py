"""Attacks of a provider that people sign in with, of one that poses as it, and of people who forge what a provider says."""
import hashlib, hmac, json, random, re, secrets, socket, threading, time

from kit.p256 import Key
from kit.web import base64url
from attacks.person import signed_in
from attacks.target import Browser, Client, Holder, Server, require
from parties import hostile
from parties.hostile import Lies, Listener

# The statuses of the pages that say so, with their titles.
REFUSALS = {400: "You weren’t signed in", 403: "You weren’t signed in", 503: "doesn’t answer"}


class Relying(Server):
    """A server with providers."""

    def __init__(self, entries, *flags, **more):
        self.entries = entries
        super().__init__("--sign-up", "open", *flags, **more)

    def configure(self, clients):
        super().configure(clients)
        with open(self.folder + "/providers.json", "w") as file:
            json.dump(self.entries, file)

    def start(self, *flags):
        super().start("--providers", self.folder + "/providers.json", *flags)


def refused(browser, page, name, *statuses):
    """The page says that there is no sign-in, leads nowhere else, and there is none."""
    title = re.search(r"<h1>([^<]*)</h1>", page.text)
    require(page.status in (statuses or REFUSALS), f"{name}: {page}")
    require(title and REFUSALS[page.status] in title[1], f"{name}: no page says so: {page.status} {title and title[1]}")
    require(not page["Refresh"] and not page["Location"], f"{name}: it leads to {page['Refresh'] or page['Location']}")
    require(not signed_in(browser), f"{name}: the browser is signed in")


def trap():
    """A server that must get no request, and addresses of this machine and its network at which plain HTTP leaves loopback."""
    listener, own = Listener(hostile.well, "0.0.0.0"), socket.gethostname()
    hosts = ["0.0.0.0", "169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "127.0.0.1@169.254.169.254", "127.0.0.1.example.org", "127.1",
             "2130706433", "0x7f000001", "0177.0.0.1", "[::ffff:127.0.0.1]"]
    try:
        hosts += [host for host in (own, socket.gethostbyname(own)) if host != "localhost" and not host.startswith("127.")]
    except OSError:
        pass
    return listener, [f"http://{host}:{listener.port}/latest/meta-data" for host in hosts]


def lying_metadata():
    """Answers for the provider's metadata, keys and tokens with documents of others, broken ones and huge ones, with redirects, and with
    addresses inside the operator's network."""
    lies, (pit, inside) = Lies("good"), trap()
    deep, own = b"[" * 100_000, "http://127.0.0.1:%d" % pit.port
    # The browser is not even sent away.
    early = {"other": dict(issuer="https://accounts.example.org"), "none": dict(issuer=None), "number": dict(issuer=5), "list": dict(issuer=["a"]),
             "null-token": dict(token_endpoint=None), "plain": dict(code_challenge_methods_supported=["plain"]),
             "script": dict(authorization_endpoint="javascript:alert(1)"), "data": dict(authorization_endpoint="data:text/html,x"),
             "http": dict(authorization_endpoint="http://evil.example.com/"), "file": dict(token_endpoint="file:///etc/passwd"),
             "relative": dict(token_endpoint="/token"), **{f"inside-{number}": dict(token_endpoint=url) for number, url in enumerate(inside)}}
    for name, metadata in early.items():
        lies.add(name, **metadata)
    bodies = {"text": b"It works!", "empty": b"", "array": b"[]", "deep": deep, "deep-object": b'{"a":' * 50_000, "bytes": b'{"issuer": "\xff\xfe"}',
              "null": b"null", "large": json.dumps(dict(issuer="x", more="x" * 300_000)).encode()}
    for name, body in bodies.items():
        lies.add("body-" + name).says["metadata"] = hostile.document(body)
    answers = {"endless": hostile.endless, "garbage": hostile.garbage, "drop": hostile.drop, "away": hostile.redirect(own),
               "kept": hostile.redirect(own, 307),
               "moved": hostile.redirect(own, 308), "missing": hostile.document(b"", 404), "broken": hostile.document(b"{}", 500),
               "odd": hostile.document(b"{}", 299)}
    for name, answer in answers.items():
        lies.add("says-" + name).says["metadata"] = answer
    slashed = lies.add("slash")
    slashed.metadata["issuer"] += "/"
    first = set(lies.issuers) - {"good"}
    # The browser comes back, and the server does not get further.
    for name, answer in answers.items():
        for place in ("token", "keys"):
            lies.add(f"{place}-{name}").says[place] = answer
    for name, body in bodies.items():
        for place in ("token", "keys"):
            lies.add(f"{place}-body-{name}").says[place] = hostile.document(body)
    for number, url in enumerate(random.sample(inside, 4)):
        lies.add(f"keys-{number}", jwks_uri=url)
        lies.add(f"user-{number}", userinfo_endpoint=url)
    for name, keys in dict(none=[], secret=[dict(kty="oct", k="AAAA", kid="first")], many=[dict(kty="EC", kid=str(n)) for n in range(500)],
                           private=[dict(Key().jwk, kid="first", d="AAAA")], off=[dict(crv="P-256", kty="EC", x="AAAA", y="AAAA", kid="first")]).items():
        lies.add("set-" + name).says["keys"] = hostile.document(json.dumps({"keys": keys}).encode())
    server = Relying(lies.entries(), "--rate-limits", "none")
    before = server.resident()
    good = lies.issuers.pop("good")
    for name, issuer in lies.issuers.items():
        browser = Browser(server)
        page = issuer.begin(browser)
        asked = issuer.asked(page)
        if name in first:
            refused(browser, page, name)
            require(not asked and "javascript:" not in page.text and "data:text" not in page.text, f"{name}: the browser is sent away")
            continue
        require(asked, f"{name}: the control does not begin: {page}")
        claims = issuer.claims(asked, **(dict(name=None, email=None) if name.startswith("user-") else {}))
        page = issuer.back(browser, state=asked["state"], code=issuer.grant(issuer.sign(claims)))
        if name.startswith("user-"):
            # The ID token is genuine: only the address is not asked.
            require(signed_in(browser), f"{name}: {page}")
        else:
            refused(browser, page, name)
    require(not pit.seen, f"a redirect or an address inside was followed: {[each.path for each in pit.seen]}")
    require(lies.listener.server.sent < 16 << 20, f"{lies.listener.server.sent >> 20} MiB were sent of an endless document")
    require(server.runs() and server.resident() - before < 96 << 10, f"{server.resident() - before >> 10} MiB of memory were taken")
    lies.issuers["good"], browser = good, Browser(server)
    good.sign_in(browser)
    require(signed_in(browser), "the honest sign-in fails")
    for each in (lies, pit):
        each.close()
    server.stop()
    return f"{len(lies.issuers) - 1} lies, each with a page; no redirect and no address inside was followed"


def forged(issuer, other):
    """Functions by name: of the parameters of a sign-in, each makes a token that is not its ID token."""
    now, stranger, x = int(time.time()), Key(), issuer.key.jwk["x"].encode()

    def changed(**changes):
        return lambda asked: issuer.sign(issuer.claims(asked, **changes))

    def headed(key=None, **header):
        return lambda asked: issuer.sign(issuer.claims(asked), key, **header)

    def unsigned(**header):
        return lambda asked: hostile.raw(hostile.without_none(dict(dict(kid="first", typ="JWT"), **header)), issuer.claims(asked))

    def with_secret(key):
        def token(asked):
            text = hostile.raw(dict(alg="HS256", typ="JWT", kid="first"), issuer.claims(asked)).rsplit(".", 1)[0]
            return text + "." + base64url(hmac.new(key, text.encode(), hashlib.sha256).digest())
        return token

    def edited(change):
        """By the head, the body and the signature of the genuine one."""
        return lambda asked: change(*issuer.sign(issuer.claims(asked)).split("."))

    tokens = {f"alg {name!r}": unsigned(alg=name) for name in ("none", "None", "NONE", "", None, "ES256", "RS256")}
    tokens |= {
        "HS256 with the key": with_secret(json.dumps(issuer.key.jwk).encode()), "HS256 with x": with_secret(x), "HS256 with nothing": with_secret(b""),
        "HS256 with the client's ID": with_secret(issuer.client.encode()),
        "another key": headed(stranger), "another key, unnamed": headed(stranger, kid=None), "a key in the header": headed(stranger, jwk=stranger.jwk),
        "a key elsewhere": headed(stranger, jku=other.url + "/keys"), "a certificate": headed(stranger, x5c=["AAAA"]), "critical": headed(crit=["x"], x=1),
        "b64": headed(b64=False), "unknown kid": headed(kid="../../../etc/passwd"), "number as kid": headed(kid=1),
        "as logout": headed(typ="logout+jwt"), "as an event": headed(typ="secevent+jwt"), "as access": headed(typ="at+jwt")}
    tokens |= {
        "no signature": edited(lambda head, body, end: f"{head}.{body}."), "half a signature": edited(lambda head, body, end: f"{head}.{body}.{end[:43]}"),
        "zeros": edited(lambda head, body, end: f"{head}.{body}." + base64url(bytes(64))),
        "padding": edited(lambda head, body, end: f"{head}.{body}.{end}=="),
        "two parts": edited(lambda head, body, end: f"{head}.{body}"), "four parts": edited(lambda head, body, end: f"{head}.{body}.{end}.x"),
        "five parts": edited(lambda head, body, end: f"{head}.{body}.x.y.z"), "a space": edited(lambda head, body, end: f"{head}.{body}.{end} "),
        "another body": edited(lambda head, body, end: f"{head}.{base64url(json.dumps(dict(sub='eve')).encode())}.{end}"),
        "empty": lambda asked: "", "huge": lambda asked: "A" * 200_000, "no claims": lambda asked: issuer.sign({}),
        "of another issuer": lambda asked: other.sign(other.claims(asked)),
        "of another issuer, in this one's name": lambda asked: other.sign(issuer.claims(asked)),
        "hashed nonce": lambda asked: issuer.sign(issuer.claims(asked, nonce=hashlib.sha256(asked["nonce"].encode()).hexdigest()))}
    return tokens | {
        "iss": changed(iss=other.url), "iss with a slash": changed(iss=issuer.url + "/"), "iss in capitals": changed(iss=issuer.url.upper()),
        "no iss": changed(iss=None), "iss list": changed(iss=[issuer.url]), "aud": changed(aud="other"), "no aud": changed(aud=None),
        "aud empty": changed(aud=[]),
        "aud number": changed(aud=1), "two aud": changed(aud=[issuer.client, "other"]), "azp": changed(azp="other"), "azp number": changed(azp=1),
        "two aud, azp": changed(aud=[issuer.client, "other"], azp="other"), "nonce": changed(nonce=secrets.token_urlsafe(32)),
        "no nonce": changed(nonce=None),
        "nonce empty": changed(nonce=""), "nonce list": changed(nonce=["x" * 32]), "expired": changed(exp=now - 120), "no exp": changed(exp=None),
        "exp text": changed(exp=str(now + 300)), "exp far": changed(exp=1e300), "exp negative": changed(exp=-1), "from the future": changed(iat=now + 600),
        "not yet": changed(nbf=now + 600), "no sub": changed(sub=None), "sub empty": changed(sub=""), "sub number": changed(sub=7),
        "sub long": changed(sub="a" * 256), "a null byte in sub": changed(sub="ada\0"), "a null byte": changed(sub="\0"),
        "a line in sub": changed(sub="a\nb"),
        "an event": changed(events={"x": {}})}


def forged_id_tokens():
    """Has the token endpoint give ID tokens that are unsigned, signed by others, for others, of other sign-ins, expired or no tokens; and
    answers that are none."""
    lies = Lies("good", "other")
    issuer, other = lies["good"], lies["other"]
    server = Relying(lies.entries(), "--rate-limits", "none")
    before = Browser(server)
    old = issuer.asked(issuer.begin(before))
    kept = issuer.sign(issuer.claims(old))
    count = 0

    def attempt(name, grant):
        browser = Browser(server)
        asked = issuer.asked(issuer.begin(browser))
        require(asked, f"{name}: the browser is not sent away")
        refused(browser, issuer.back(browser, state=asked["state"], code=grant(asked)), name)

    for name, token in forged(issuer, other).items():
        attempt(name, lambda asked: issuer.grant(token(asked)))
        count += 1
    attempt("of an earlier sign-in", lambda asked: issuer.grant(kept))
    for name, more in {"no ID token": dict(id_token=None), "number": dict(id_token=5), "list": dict(id_token=[]),
                       "no access token": dict(access_token=None),
                       "another type": dict(token_type="mac"), "an error": dict(error="invalid_grant", access_token=None)}.items():
        attempt(name, lambda asked: issuer.grant(issuer.sign(issuer.claims(asked)), **more))
        count += 1
    # The ID token says who the user is: the other place may not say otherwise.
    issuer.says["userinfo"] = hostile.document(b'{"sub": "victim", "email": "victim@example.org", "email_verified": true}')
    attempt("another user's information", lambda asked: issuer.grant(issuer.sign(issuer.claims(asked, name=None, email=None))))
    del issuer.says["userinfo"]
    browser = Browser(server)
    issuer.sign_in(browser)
    require(signed_in(browser), "the honest sign-in fails")
    require(server.command("stats")["accounts"] == 1, "a forged token has made an account")
    lies.close()
    server.stop()
    return f"{count + 2} tokens and answers refused"


def mixed_up():
    """Brings a browser back with another issuer's answer (RFC 9207), to another provider, in another browser, without its state, and with
    an error."""
    lies = Lies("good", "evil", "named")
    good, evil, named = lies["good"], lies["evil"], lies["named"]
    named.metadata["authorization_response_iss_parameter_supported"] = True
    server, tried = Relying(lies.entries(), "--rate-limits", "none"), 0

    def attempt(issuer, name, ways, browser=None, *statuses):
        nonlocal tried
        own = Browser(server)
        asked = issuer.asked(issuer.begin(own))
        code = issuer.grant(issuer.sign(issuer.claims(asked)))
        browser = own if browser == None else browser(own)
        page = browser.load("GET", ways(f"state={asked['state']}", f"code={code}"))
        # Only the browser that began it may end at a page of its own.
        refused(browser, page, name, *statuses)
        tried += 1

    def at(issuer):
        return f"/sign-in/with/{issuer.id}/callback?"

    back = at(good)
    for name, ways in {
        "another iss": lambda state, code: back + f"{state}&{code}&iss={evil.url}", "iss empty": lambda state, code: back + f"{state}&{code}&iss=",
        "iss twice": lambda state, code: back + f"{state}&{code}&iss={good.url}&iss={evil.url}", "iss with a slash": lambda state,
        code: back + f"{state}&{code}&iss={good.url}/",
        "no state": lambda state, code: back + code, "another state": lambda state, code: back + f"state=x&{code}", "state twice": lambda state,
        code: back + f"{state}&state=x&{code}",
        "no code": lambda state, code: back + state, "code empty": lambda state, code: back + state + "&code=", "code twice": lambda state,
        code: back + f"{state}&{code}&code=x",
        "nothing": lambda state, code: back, "an error and a code": lambda state, code: back + f"{state}&{code}&error=access_denied",
        "an error": lambda state, code: back + f"{state}&error=%3Cscript%3E", "at another provider": lambda state, code: at(evil) + f"{state}&{code}",
    }.items():
        attempt(good, name, ways)
    for name, ways in {"no iss": lambda state, code: at(named) + f"{state}&{code}", "another iss": lambda state,
                       code: at(named) + f"{state}&{code}&iss={good.url}"}.items():
        attempt(named, "announced, " + name, ways)
    attempt(good, "another browser", lambda state, code: back + f"{state}&{code}", lambda own: Browser(server))

    def begun_elsewhere(own):
        """The victim's browser, which began a sign-in of its own."""
        browser = Browser(server)
        good.begin(browser)
        return browser

    attempt(good, "the victim's browser", lambda state, code: back + f"{state}&{code}", begun_elsewhere)

    def with_cookies(own):
        """Has the attempt's cookie alone, as a page of another subdomain could set it."""
        browser = Browser(server)
        browser.load("GET", "/sign-in")
        browser.cookies |= {name: value for name, value in own.cookies.items() if "-with-" in name}
        return browser

    attempt(good, "the attempt in another browser", lambda state, code: back + f"{state}&{code}", with_cookies)

    def renamed(own):
        own.cookies = {name.replace("-with-good", "-with-evil"): value for name, value in own.cookies.items()}
        return own

    attempt(good, "the attempt of another provider", lambda state, code: at(evil) + f"{state}&{code}", renamed)
    # The controls: with the issuer's own name, and without where none is announced.
    for issuer, more in ((good, {}), (good, dict(iss=good.url)), (named, dict(iss=named.url))):
        browser = Browser(server)
        asked = issuer.asked(issuer.begin(browser))
        issuer.back(browser, state=asked["state"], code=issuer.grant(issuer.sign(issuer.claims(asked))), **more)
        require(signed_in(browser), f"the honest sign-in at {issuer.name} fails")
    lies.close()
    server.stop()
    return f"{tried} ways back refused"


def rotated_keys():
    """Changes the provider's key in the middle of a sign-in: the new one counts at once, or half a minute later, and the one that was
    withdrawn no longer then."""
    lies = Lies("fresh", "known")
    server = Relying(lies.entries(), "--rate-limits", "none")
    # A key that this server has not fetched yet.
    issuer = lies["fresh"]
    browser, thief = Browser(server), Browser(server)
    asked, stolen = issuer.asked(issuer.begin(browser)), issuer.asked(issuer.begin(thief))
    key, kid = issuer.rotate("second")
    refused(thief, issuer.back(thief, state=stolen["state"], code=issuer.grant(issuer.sign(issuer.claims(stolen), key, kid=kid))), "the key before")
    issuer.back(browser, state=asked["state"], code=issuer.grant(issuer.sign(issuer.claims(asked))))
    require(signed_in(browser), "the first sign-in after a change of keys fails")
    # One that it has.
    issuer, first = lies["known"], Browser(server)
    issuer.sign_in(first)
    require(signed_in(first), "the honest sign-in fails")
    browser = Browser(server)
    asked = issuer.asked(issuer.begin(browser))
    key, kid = issuer.rotate("second")
    changed = time.monotonic()
    page = issuer.back(browser, state=asked["state"], code=issuer.grant(issuer.sign(issuer.claims(asked))))
    require(signed_in(browser) or page.status in REFUSALS, f"in the middle: {page}")
    while not signed_in(browser):
        require(time.monotonic() - changed < 40, "the new key does not count")
        time.sleep(1)
        browser = Browser(server)
        refusal = issuer.sign_in(browser)
        require(refusal.status in REFUSALS or refusal.status == 303, f"with the new key: {refusal}")
    waited, thief = time.monotonic() - changed, Browser(server)
    asked = issuer.asked(issuer.begin(thief))
    refused(thief, issuer.back(thief, state=asked["state"], code=issuer.grant(issuer.sign(issuer.claims(asked), key, kid=kid))),
            "the key that was withdrawn")
    require(lies.asked("known", "keys") <= 3, f"the keys were fetched {lies.asked('known', 'keys')} times")
    lies.close()
    server.stop()
    return f"the new key counts after {waited:.0f} s, and the former one no longer"


def slow_providers():
    """Hangs, and sends a byte now and then, at each place of the provider, for many browsers at once: each gets its page within seconds, and
    others are served meanwhile."""
    lies = Lies()
    for place in ("metadata", "token", "keys", "userinfo"):
        for name, answer in (("hang", hostile.hang), ("trickle", hostile.trickle)):
            lies.add(f"{place}-{name}").says[place] = answer
    server = Relying(lies.entries(), "--rate-limits", "none")
    results, threads = {}, []

    def attempt(issuer, number):
        browser = Browser(server)
        browser.client.timeout = 60
        began = time.monotonic()
        page = issuer.begin(browser)
        asked = issuer.asked(page)
        if asked:
            page = issuer.back(browser, state=asked["state"], code=issuer.grant(issuer.sign(issuer.claims(asked, name=None))))
        results[issuer.name, number] = time.monotonic() - began, browser, page

    for number in range(3):
        for issuer in lies.issuers.values():
            threads.append(threading.Thread(target=attempt, args=(issuer, number)))
            threads[-1].start()
    holder, slowest = Holder(Client(server), Client(server).guest()), 0
    while any(thread.is_alive() for thread in threads):
        began = time.monotonic()
        require(holder.refresh().status == 200, "a refresh fails")
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.1)
    require(len(results) == len(threads), f"{len(threads) - len(results)} browsers got no answer")
    for (name, _), (seconds, browser, page) in results.items():
        require(seconds < 30, f"{name}: {seconds:.0f} s")
        # Without an answer there, the ID token alone says who the user is.
        if name.startswith("userinfo"):
            require(signed_in(browser), f"{name}: {page}")
        else:
            refused(browser, page, name)
    require(slowest < 3, f"a refresh took {slowest:.1f} s meanwhile")
    lies.close()
    server.stop()
    return f"{len(results)} pages within {max(seconds for seconds, *_ in results.values()):.0f} s; refreshes took {slowest:.2f} s at most"


ATTACKS = [lying_metadata, forged_id_tokens, mixed_up]
SLOW = [slow_providers, rotated_keys]
