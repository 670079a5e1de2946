"""Attacks of a provider that people sign in with, of one that poses as it, and of people who forge what a provider says."""
import json, random, re, socket, threading, time

from kit.p256 import Key
from attacks.person import signed_in, together
from attacks.target import Browser, Client, Holder, Server, require, until
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


def refused(browser, page, name):
    """The page says that there is no sign-in, leads nowhere else, and there is none."""
    title = re.search(r"<h1>([^<]*)</h1>", page.text)
    require(page.status in REFUSALS, f"{name}: {page}")
    require(title and REFUSALS[page.status] in title[1], f"{name}: no page says so: {page.status} {title and title[1]}")
    require(not page["Refresh"] and not page["Location"], f"{name}: it leads to {page['Refresh'] or page['Location']}")
    require(not signed_in(browser), f"{name}: the browser is signed in")


def finish(issuer, browser, asked, key=None, **changes):
    """Comes back from the provider with a code for an ID token with these claims; `key` is another key, with its ID."""
    signer, header = (key[0], dict(kid=key[1])) if key else (None, {})
    return issuer.back(browser, state=asked["state"], code=issuer.grant(issuer.sign(issuer.claims(asked, **changes), signer, **header)))


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
    """Answers for the provider's metadata, keys and tokens with huge documents and broken connections, with redirects, and with addresses
    inside the operator's network."""
    lies, (pit, inside) = Lies("good"), trap()
    own = "http://127.0.0.1:%d" % pit.port
    # The browser is not even sent away.
    for name, url in {"script": "javascript:alert(1)", "data": "data:text/html,x", "http": "http://evil.example.com/"}.items():
        lies.add(name, authorization_endpoint=url)
    for number, url in enumerate([*inside, "file:///etc/passwd", "/token", None]):
        lies.add(f"inside-{number}", token_endpoint=url)
    lies.add("slash").metadata["issuer"] += "/"
    answers = {"endless": hostile.endless, "garbage": hostile.garbage, "drop": hostile.drop, "away": hostile.redirect(own),
               "kept": hostile.redirect(own, 307), "moved": hostile.redirect(own, 308), "odd": hostile.document(b"{}", 299),
               "empty": hostile.document(b""), "bytes": hostile.document(b'{"issuer": "\xff\xfe"}'), "deep": hostile.document(b"[" * 100_000)}
    for name, answer in answers.items():
        lies.add("metadata-" + name).says["metadata"] = answer
    first = set(lies.issuers) - {"good"}
    # The browser comes back, and the server does not get further.
    for name, answer in answers.items():
        for place in ("token", "keys"):
            lies.add(f"{place}-{name}").says[place] = answer
    for number, url in enumerate(random.sample(inside, 4)):
        lies.add(f"keys-{number}", jwks_uri=url)
        lies.add(f"user-{number}", userinfo_endpoint=url)
    for name, keys in dict(none=[], secret=[dict(kty="oct", k="AAAA", kid="first")], many=[dict(kty="EC", kid=str(n)) for n in range(500)],
                           private=[dict(Key().jwk, kid="first", d="AAAA")], off=[dict(crv="P-256", kty="EC", x="AAAA", y="AAAA", kid="first")]).items():
        lies.add("set-" + name).says["keys"] = hostile.document(json.dumps({"keys": keys}).encode())
    server = Relying(lies.entries(), "--rate-limits", "none")
    before, good = server.resident(), lies.issuers.pop("good")
    for name, issuer in lies.issuers.items():
        browser = Browser(server)
        page = issuer.begin(browser)
        asked = issuer.asked(page)
        if name in first:
            refused(browser, page, name)
            require(not asked and "javascript:" not in page.text and "data:text" not in page.text, f"{name}: the browser is sent away")
            continue
        require(asked, f"{name}: the control does not begin: {page}")
        page = finish(issuer, browser, asked, **(dict(name=None, email=None) if name.startswith("user-") else {}))
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
    return f"{len(lies.issuers) - 1} lies, each with a page; no redirect and no address inside was followed"


def rotated_keys():
    """Changes the provider's key in the middle of a sign-in: the new one counts at once, or half a minute later, and the one that was
    withdrawn no longer then."""
    lies = Lies("fresh", "known")
    server = Relying(lies.entries(), "--rate-limits", "none")
    first = Browser(server)
    lies["known"].sign_in(first)
    require(signed_in(first), "the honest sign-in fails")
    for issuer in lies.issuers.values():
        browser, thief = Browser(server), Browser(server)
        asked, stolen = issuer.asked(issuer.begin(browser)), issuer.asked(issuer.begin(thief))
        former = issuer.rotate("second")
        changed = time.monotonic()
        finish(issuer, browser, asked)

        def counts():
            again = Browser(server)
            page = issuer.sign_in(again)
            require(page.status in REFUSALS or page.status == 303, f"with the new key: {page}")
            return signed_in(again)

        # A server that has not fetched keys before has the new one at once.
        require(signed_in(browser) or issuer.name == "known" and until(counts, "the new key does not count", 40, 1), "the new key does not count")
        waited = time.monotonic() - changed
        refused(thief, finish(issuer, thief, stolen, former), f"{issuer.name}: the key that was withdrawn")
    require(lies.asked("known", "keys") <= 3, f"the keys were fetched {lies.asked('known', 'keys')} times")
    lies.close()
    return f"the new key counts after {waited:.0f} s, and the former one no longer"


def slow_providers():
    """Hangs, and sends a byte now and then, at each place of the provider, for many browsers at once: each gets its page within seconds, and
    others are served meanwhile."""
    lies = Lies()
    for place in ("metadata", "token", "keys", "userinfo"):
        for name, answer in (("hang", hostile.hang), ("trickle", hostile.trickle)):
            lies.add(f"{place}-{name}").says[place] = answer
    server = Relying(lies.entries(), "--rate-limits", "none")
    holder, slowest, done = Holder(Client(server), Client(server).guest()), 0, threading.Event()

    def attempt(issuer):
        browser, began = Browser(server), time.monotonic()
        browser.client.timeout = 60
        page = issuer.begin(browser)
        if asked := issuer.asked(page):
            page = finish(issuer, browser, asked, name=None)
        return issuer.name, time.monotonic() - began, browser, page

    def refreshes():
        nonlocal slowest
        while not done.wait(0.1):
            began = time.monotonic()
            require(holder.refresh().status == 200, "a refresh fails")
            slowest = max(slowest, time.monotonic() - began)

    def attempts():
        try:
            return together([lambda issuer=issuer: attempt(issuer) for issuer in lies.issuers.values() for _ in range(3)])
        finally:
            done.set()

    results, _ = together([attempts, refreshes])
    for name, seconds, browser, page in results:
        require(seconds < 30, f"{name}: {seconds:.0f} s")
        # Without an answer there, the ID token alone says who the user is.
        if name.startswith("userinfo"):
            require(signed_in(browser), f"{name}: {page}")
        else:
            refused(browser, page, name)
    require(slowest < 3, f"a refresh took {slowest:.1f} s meanwhile")
    lies.close()
    return f"{len(results)} pages within {max(seconds for _, seconds, *_ in results):.0f} s; refreshes took {slowest:.2f} s at most"


ATTACKS = [lying_metadata]
SLOW = [slow_providers, rotated_keys]
