"""Looks at every page of the server in Chromium.

Judges each view by axe-core in light and dark, compares it with its accessibility tree in docs/pages.txt, measures it at 320 px, walks it with the Tab
key, and listens to the console. With a folder it makes pictures instead: of all views, those of the documentation, or of the walk of a person who forgot the
password."""
import os, re, time

from kit import build, server
from kit.chromium import DESKTOP, PHONE, Chromium
from walk import checks
from walk.forgotten import forgotten
from walk.site import Site
from walk.views import PASSWORD, walk

NEEDS = ["--tests"]


def options(parser):
    parser.add_argument("--deep", action="store_true", help="in all languages")
    parser.add_argument("--update", action="store_true", help="write the trees; look at the difference")
    parser.add_argument("--shots", metavar="FOLDER", help="pictures of all, light and dark, phone and desktop, with an index.html")
    parser.add_argument("--front", metavar="FOLDER", help="those of the documentation: docs/images")
    parser.add_argument("--walk", metavar="FOLDER", help="pictures of a forgotten password")


TREES = "docs/pages.txt"
LANGUAGES = ["en", "de"]


def known_trees():
    if not os.path.exists(TREES):
        return {}
    with open(TREES, encoding="utf-8") as file:
        parts = re.split(r"^== (\S+)$", file.read(), flags=re.M)
    return dict(zip(parts[1::2], (part.strip("\n") for part in parts[2::2])))


def views(language):
    """Each view with its browser, on a server of its own."""
    site = Site()
    site.begin()
    with Chromium(site.issuer, language) as browser:
        browser.size(DESKTOP)
        browser.light(False)
        for name in walk(site, browser):
            yield name, browser
    server.remove_all()


def check(update, is_deep):
    source, failed, known, trees = checks.axe_source(), [], known_trees(), {}
    for language in LANGUAGES if is_deep else LANGUAGES[:1]:
        start, count, runs = time.time(), 0, 0
        for name, browser in views(language):
            faults = []
            # Before other checks move the focus.
            if language == "en":
                trees[name] = checks.tree(browser)
                if not update and trees[name] != known.get(name):
                    faults.append("the accessibility tree is another: scripts/dev pages --update, and look at the difference")
            for is_dark in [False, True]:
                browser.light(is_dark)
                faults += checks.axe(browser, source)
                runs += 1
            browser.light(False)
            faults += checks.overflow(browser) + checks.keyboard(browser) + browser.complaints()
            failed += [f"{language} {name}: {fault}" for fault in faults]
            count += 1
        print(f"ok     {language}: {count} views, {runs} runs of axe, {time.time() - start:.0f} s", flush=True)
    if update:
        with open(TREES, "w", encoding="utf-8") as file:
            file.write("What a screen reader is told of each page, in English. `scripts/dev pages --update` writes it.\n\n")
            file.write("\n\n".join(f"== {name}\n{tree}" for name, tree in trees.items()) + "\n")
    elif set(known) - set(trees):
        failed.append(f"views that are gone: {sorted(set(known) - set(trees))}")
    steps = forgotten()
    print(f"ok     a forgotten password on a phone without script: {len(steps)} steps", flush=True)
    for fault in failed:
        print("FAILED " + fault)
    return 1 if failed else 0


def shots(folder):
    os.makedirs(folder, exist_ok=True)
    rows = {}
    for language in LANGUAGES:
        for name, browser in views(language):
            for size, word in [(DESKTOP, "desktop"), (PHONE, "phone")]:
                browser.size(size)
                for is_dark in [False, True]:
                    browser.light(is_dark)
                    file = f"{name}-{language}-{word}-{'dark' if is_dark else 'light'}.png"
                    browser.shot(os.path.join(folder, file))
                    rows.setdefault(name, []).append(file)
            browser.size(DESKTOP)
            browser.light(False)
    with open(os.path.join(folder, "index.html"), "w") as index:
        index.write("<!doctype html><meta charset=utf-8><title>Pages</title><style>body{font:14px system-ui;background:#777}"
                    "img{height:360px;margin:4px;vertical-align:top}</style>")
        for name, files in rows.items():
            index.write(f"<h2>{name}</h2>" + "".join(f"<img loading=lazy src={file}>" for file in files))
    print(f"{sum(len(files) for files in rows.values())} pictures of {len(rows)} views in {folder}")
    return 0


# The pictures of the documentation by view, each with the part of the page that it begins with.
PICTURES = {"sign_in-app": ("sign_in", None), "account_devices": ("account_devices", None), "sign_in-elsewhere": ("sign_in_elsewhere", None),
            "account_security-linked": ("account_elsewhere", "#identities")}


def front(folder):
    """The pages of the documentation, light and dark."""
    os.makedirs(folder, exist_ok=True)
    site = Site()
    site.begin()
    with Chromium(site.issuer, "en") as browser:
        browser.size((720, 816))
        for name in walk(site, browser):
            if name == "account_devices":
                for id, device, platform in [("d-1", "Ada’s phone", "ios"), ("d-2", "Study", "macos"), ("d-3", "build server", "linux")]:
                    site.sign_in("countess@example.org", PASSWORD, id, device, platform)
                browser.open("/account/devices")
                browser.wait_for(".live.on")
            picture, part = PICTURES.get(name, (None, None))
            if part:
                browser.script("document.querySelector(arguments[0]).scrollIntoView()", part)
            for is_dark in [False, True] if picture else []:
                browser.light(is_dark)
                browser.shot(os.path.join(folder, f"{picture}-{'dark' if is_dark else 'light'}.webp"), "webp", whole=False)
            browser.light(False)
            if name == "account_devices":
                break
    print(f"the pictures of the documentation are in {folder}")
    return 0


def main(options):
    server.PROGRAM = build.program()
    try:
        if options.shots:
            return shots(options.shots)
        if options.front:
            return front(options.front)
        if options.walk:
            os.makedirs(options.walk, exist_ok=True)
            for number, step in enumerate(forgotten(options.walk), 1):
                print(f"{number:02} {step}")
            return 0
        return check(options.update, options.deep)
    finally:
        server.remove_all()
