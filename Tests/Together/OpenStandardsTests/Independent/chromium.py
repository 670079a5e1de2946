"""Ada at a real browser: completes the pages with keyboard and mouse, and prints each result on a line."""
import sys

from selenium.webdriver.common.keys import Keys
from kit.chromium import Chromium

page, password, code = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None


def tell(kind, text):
    print(kind, text, flush=True)


def console():
    """Policy violations appear there."""
    for entry in browser.driver.get_log("browser"):
        tell("console", entry["message"])


def shown(title):
    browser.wait(lambda: browser.driver.title.startswith(title), "no page " + title, 60)
    tell("page", browser.title())
    console()


def sign_in(word):
    browser.fill("email", "ada@example.org")
    browser.find("#password").send_keys(word, Keys.ENTER)


with Chromium(page.split("/oauth/")[0]) as browser:
    browser.open(page)
    shown("Sign in")
    # The page sets the focus.
    tell("focus", browser.driver.switch_to.active_element.get_attribute("id"))
    before = {cookie["name"]: cookie["value"] for cookie in browser.driver.get_cookies()}
    sign_in("not the password")
    browser.wait(lambda: browser.has("[role=alert]"), "no alert", 60)
    tell("alert", browser.find("#password-error").text)
    sign_in(password)
    if code:
        shown("Connect a device")
        browser.find("#user_code").send_keys(code, Keys.ENTER)
    shown("Allow")
    for cookie in sorted(browser.driver.get_cookies(), key=lambda cookie: cookie["name"]):
        flags = [name for name in ("secure", "httpOnly") if cookie[name]]
        tell("cookie", " ".join([cookie["name"], *flags, cookie["sameSite"], cookie["path"]]))
        if before.get(cookie["name"]) == cookie["value"]:
            tell("kept", cookie["name"])
    tell("seen by scripts", browser.script("return document.cookie") or "nothing")
    browser.press("button[value=allow]")
    if code:
        shown("Your device is connected")
    else:
        browser.wait(lambda: not browser.driver.current_url.startswith(browser.origin), "no way back to the app")
        tell("at", browser.driver.current_url.split("?")[0])
    console()
