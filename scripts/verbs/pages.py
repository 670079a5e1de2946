"""Looks at every page of the server in Chromium.

Judges each view by axe-core in light and dark, compares it with its accessibility tree in docs/pages.txt, measures it at 320 px, walks it with the Tab
key, and listens to the console. With a folder it makes pictures instead: of all views, or those of the documentation."""
import os, re, time

from kit import build, server
from kit.chromium import DESKTOP, PHONE, Chromium
from walk import checks
from walk.forgotten import forgotten
from walk.site import Site
from walk.views import walk

NEEDS = ["--tests"]


def options(parser):
    parser.add_argument("--deep", action="store_true", help="in all languages")
    parser.add_argument("--update", action="store_true", help="write the trees; look at the difference")
    parser.add_argument("--shots", metavar="FOLDER", help="pictures of all, light and dark, phone and desktop, with an index.html")
    parser.add_argument("--front", metavar="FOLDER", help="those of the documentation: docs/images")


TREES = "docs/pages.txt"
LANGUAGES = ["en", "de"]
# The pictures of the documentation by view, each with the part of the page that it begins with.
PICTURES = {"sign_in-app": ("sign_in", None), "account_devices-many": ("account_devices", None), "sign_in-elsewhere": ("sign_in_elsewhere", None),
            "account_security-linked": ("account_elsewhere", "#identities")}


def known_trees():
    if not os.path.exists(TREES):
        return {}
    with open(TREES, encoding="utf-8") as file:
        parts = re.split(r"^== (\S+)$", file.read(), flags=re.M)
    return dict(zip(parts[1::2], (part.strip("\n") for part in parts[2::2])))


def views(language, size=DESKTOP):
    """Each view with its browser, on a server of its own."""
    site = Site()
    site.begin()
    with Chromium(site.issuer, language) as browser:
        browser.size(size)
        browser.light(False)
        for name in walk(site, browser):
            yield name, browser
    server.remove_all()


def check(update, is_deep):
    source, failed, known, trees = checks.axe_source(), [], known_trees(), {}
    for language in LANGUAGES if is_deep else LANGUAGES[:1]:
        start, count = time.time(), 0
        for count, (name, browser) in enumerate(views(language), 1):
            faults = []
            # Before other checks move the focus.
            if language == "en":
                trees[name] = checks.tree(browser)
                if not update and trees[name] != known.get(name):
                    faults.append("the accessibility tree is another: scripts/dev pages --update, and look at the difference")
            for is_dark in [True, False]:
                browser.light(is_dark)
                faults += checks.axe(browser, source)
            faults += checks.overflow(browser) + checks.keyboard(browser) + browser.complaints()
            failed += [f"{language} {name}: {fault}" for fault in faults]
        print(f"ok     {language}: {count} views, {time.time() - start:.0f} s", flush=True)
    if update:
        with open(TREES, "w", encoding="utf-8") as file:
            file.write("What a screen reader is told of each page, in English. `scripts/dev pages --update` writes it.\n\n")
            file.write("\n\n".join(f"== {name}\n{tree}" for name, tree in trees.items()) + "\n")
    elif set(known) - set(trees):
        failed.append(f"views that are gone: {sorted(set(known) - set(trees))}")
    forgotten()
    print("ok     a forgotten password on a phone without script", flush=True)
    for fault in failed:
        print("FAILED " + fault)
    return 1 if failed else 0


def shots(folder):
    rows = {}
    for language in LANGUAGES:
        for name, browser in views(language):
            for size, word in [(PHONE, "phone"), (DESKTOP, "desktop")]:
                browser.size(size)
                for is_dark in [True, False]:
                    browser.light(is_dark)
                    file = f"{name}-{language}-{word}-{'dark' if is_dark else 'light'}.png"
                    browser.shot(os.path.join(folder, file))
                    rows.setdefault(name, []).append(file)
    with open(os.path.join(folder, "index.html"), "w") as index:
        index.write("<!doctype html><meta charset=utf-8><title>Pages</title><style>body{font:14px system-ui;background:#777}"
                    "img{height:360px;margin:4px;vertical-align:top}</style>")
        for name, files in rows.items():
            index.write(f"<h2>{name}</h2>" + "".join(f"<img loading=lazy src={file}>" for file in files))


def front(folder):
    left = dict(PICTURES)
    for name, browser in views("en", (720, 816)):
        picture, part = left.pop(name, (None, None))
        if part:
            browser.script("document.querySelector(arguments[0]).scrollIntoView()", part)
        for is_dark in [True, False] if picture else []:
            browser.light(is_dark)
            browser.shot(os.path.join(folder, f"{picture}-{'dark' if is_dark else 'light'}.webp"), "webp", whole=False)
        if not left:
            return


def main(options):
    server.PROGRAM = build.program()
    try:
        for draw, folder in [(shots, options.shots), (front, options.front)]:
            if folder:
                os.makedirs(folder, exist_ok=True)
                return draw(folder)
        return check(options.update, options.deep)
    finally:
        server.remove_all()
