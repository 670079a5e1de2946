"""Walks through every page of the server in every state that people see. A page more is a `yield` more."""
import secrets, time

from kit.web import Client, require
from walk.site import SCOPES

EMAIL, NAME = "ada@example.org", "Ada Lovelace"
PASSWORD, NEXT = "a long secret of Ada's", "another long secret of Ada's"


def walk(site, browser):
    """Yields the name of each view, while the browser shows it."""
    yield from signing_up(site, browser)
    yield from account(site, browser)
    yield from security(browser)
    yield from elsewhere(site, browser)
    yield from devices(site, browser)
    yield from applications(site, browser)
    yield from faults(site, browser)
    yield from signing_out(site, browser)
    yield from forgotten(site, browser)
    yield from ending(site, browser)


def signing_up(site, browser):
    browser.open("/sign-in")
    yield "sign_in"
    browser.submit("sign-in", email=EMAIL, password="not the password")
    yield "sign_in-wrong"
    browser.open(site.authorize(login_hint=EMAIL))
    yield "sign_in-app"
    browser.open("/sign-up")
    yield "sign_up"
    browser.submit("sign-up", name="", email="ada@")
    yield "sign_up-errors"
    browser.submit("sign-up", name=NAME, email=EMAIL)
    yield "sign_up-sent"
    link = site.link("/sign-up/confirm")
    browser.open(link)
    yield "confirm"
    browser.submit("confirm", new_password="short")
    yield "confirm-error"
    browser.submit("confirm", new_password=PASSWORD)
    browser.at("/account")


def account(site, browser):
    yield "account_profile"
    browser.submit("save", name=NAME + ", Countess")
    yield "account_profile-saved"
    browser.open("/account/email")
    yield "account_email"
    browser.submit("change", new_email=EMAIL)
    yield "account_email-error"
    browser.submit("change", new_email="countess@example.org")
    yield "account_email-pending"
    link = site.link("/account/email/confirm")
    browser.open(link)
    yield "confirm_email"
    browser.submit("use")
    yield "confirm_email-done"
    browser.open(link)
    yield "confirm_email-expired"
    browser.open("/account/data")
    yield "account_data"
    browser.open("/account/delete")
    yield "delete"
    browser.submit("delete", typed_email="somewhere@example.org", password="no")
    yield "delete-error"


def security(browser):
    browser.open("/account/security")
    yield "account_security"
    browser.submit("change-password", current_password="no", new_password="short")
    yield "account_security-error"
    browser.press("[data-passkey=create]:enabled")
    browser.wait_for("[name=passkey_id]")
    yield "account_security-passkey"
    browser.press("button[value=make-codes]")
    browser.wait_for("#codes")
    yield "account_security-codes"
    browser.press("button[value=add-totp]")
    browser.wait_for("[name=setup]")
    yield "account_totp"
    browser.submit("confirm-totp", code="12345")
    yield "account_totp-error"


def elsewhere(site, browser):
    site.offer()
    start = time.time()
    while not browser.has("button[name=provider]"):
        require(time.time() - start < 20, "the provider is not offered")
        browser.open("/account/security")
    yield "account_security-elsewhere"
    browser.open(site.authorize(prompt="login"))
    yield "sign_in-elsewhere"
    browser.open("/account/security")
    browser.press("button[name=provider]")
    browser.find("button[value=sign-in]")
    browser.submit("sign-in", email=EMAIL, password=PASSWORD)
    browser.submit("allow")
    browser.find("input[name=identity]")
    yield "account_security-linked"
    browser.open("/sign-in/with/office/callback?error=access_denied")
    yield "error-provider"
    site.withdraw()


def devices(site, browser):
    browser.open("/account/devices")
    browser.wait_for(".live.on")
    yield "account_devices"
    for number, (name, platform) in enumerate([
            ("Ada's phone", "ios"), ("Study", "macos"), ("A device with quite a long name that someone has given it", "linux")]):
        site.sign_in("countess@example.org", PASSWORD, f"d-{number}", name, platform)
    browser.open("/account/devices")
    browser.wait_for(".live.on")
    yield "account_devices-many"
    browser.open("/account/devices/end")
    yield "confirm_end"
    browser.open("/account/activity")
    yield "account_activity"


def applications(site, browser):
    browser.open("/account/apps")
    yield "account_apps"
    browser.open(site.authorize())
    yield "consent"
    browser.submit("allow")
    browser.open(site.authorize("shop", scope=SCOPES))
    yield "consent-long"
    browser.submit("allow")
    browser.open(site.authorize("cli", redirect=f"http://127.0.0.1:{site.port}/callback"))
    yield "consent-this-computer"
    browser.open("/account/apps")
    yield "account_apps-several"
    browser.open("/device")
    yield "device_code"
    browser.submit("look", user_code="BBBB-BBBB")
    yield "device_code-wrong"
    for answer in ["deny", "allow"]:
        browser.open("/device?user_code=" + user_code(site))
        if answer == "deny":
            yield "device_allow"
        browser.submit(answer)
        yield "device-" + answer


def user_code(site):
    return Client(site).form("/oauth/device_authorization", dict(client_id="cli", scope="profile")).json["user_code"]


def faults(site, browser):
    browser.open("/nothing/here")
    yield "error-not_found"
    browser.open(site.authorize("no-such-client"))
    yield "error-request_invalid"
    browser.open("/account/email")
    browser.script("document.querySelector('main [name=csrf]').value = 'x'")
    browser.submit("change", new_email="x@example.org")
    yield "error-form_expired"
    # Sixteen letters of the code's alphabet are a wrong code each time.
    for _ in range(30):
        browser.open("/device?user_code=" + "".join(secrets.choice("BCDFGHJKLMNPQRSTVWXZ") for _ in range(8)))
        if browser.has_error_page():
            break
    yield "error-too_many"
    site.expire_proofs()
    start = time.time()
    while not browser.has("button[value=sign-in]"):
        require(time.time() - start < 20, "proofs do not expire")
        browser.open("/account/devices/end")
    yield "sign_in-confirm"


def signing_out(site, browser):
    browser.open("/oauth/logout?client_id=wiki")
    yield "logout"
    browser.submit("sign-out")
    yield "logout-done"


def forgotten(site, browser):
    browser.open("/recover")
    yield "recover"
    browser.submit("recover", email="countess@example.org", recovery_code="aaaa-bbbb")
    yield "recover-wrong"
    browser.open("/forgot-password")
    yield "forgot"
    browser.submit("send", email="countess")
    yield "forgot-error"
    browser.submit("send", email="countess@example.org")
    yield "forgot-sent"
    link = site.link("/reset-password")
    browser.open(link)
    yield "reset"
    browser.submit("reset", new_password="short")
    yield "reset-error"
    browser.submit("reset", new_password=NEXT)
    yield "reset-done"
    browser.open(link)
    yield "reset-expired"


def ending(site, browser):
    browser.open("/sign-in?next=/account/delete")
    browser.submit("sign-in", email="countess@example.org", password=NEXT)
    browser.at("/account/delete")
    browser.submit("delete", typed_email="countess@example.org", password=NEXT)
    yield "deleted"
