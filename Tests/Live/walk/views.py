"""Walks through every page of the server in every state that people see. A page more is a `yield` more."""
import secrets

from kit.web import Client, Person
from walk.site import SCOPES

EMAIL, NEW_EMAIL, NAME = "ada@example.org", "countess@example.org", "Ada Lovelace"
PASSWORD, NEXT = "a long secret of Ada's", "another long secret of Ada's"


def walk(site, browser):
    """Yields the name of each view, while the browser shows it."""
    for part in (signing_up, account, security, elsewhere, devices, applications, faults, forgotten):
        for name, how, *fields in part(site, browser):
            if callable(how):
                how()
            elif how.startswith(("/", "http")):
                browser.open(how)
            else:
                browser.submit(how, **(fields[0] if fields else {}))
            if name:
                yield name


# Each view, if it has a name, with the address that leads there, the button and the fields of a form, or what is done.

def signing_up(site, browser):
    yield "sign_in", "/sign-in"
    yield "sign_in-wrong", "sign-in", dict(email=EMAIL, password="not the password")
    yield "sign_in-app", site.authorize(login_hint=EMAIL)
    yield "sign_up", "/sign-up"
    yield "sign_up-errors", "sign-up", dict(name="", email="ada@")
    yield "sign_up-sent", "sign-up", dict(name=NAME, email=EMAIL)
    yield "confirm", site.link("/sign-up/confirm")
    yield "confirm-error", "confirm", dict(new_password="short")
    yield None, "confirm", dict(new_password=PASSWORD)


def account(site, browser):
    yield "account_profile", lambda: browser.at("/account")
    yield "account_profile-saved", "save", dict(name=NAME + ", Countess")
    yield "account_email", "/account/email"
    yield "account_email-error", "change", dict(new_email=EMAIL)
    yield "account_email-pending", "change", dict(new_email=NEW_EMAIL)
    link = site.link("/account/email/confirm")
    yield "confirm_email", link
    yield "confirm_email-done", "use"
    yield "confirm_email-expired", link
    yield "account_data", "/account/data"
    yield "delete", "/account/delete"
    yield "delete-error", "delete", dict(typed_email="somewhere@example.org", password="no")


def security(site, browser):
    def press(selector, shown):
        return lambda: browser.press(selector) or browser.find(shown)

    yield "account_security", "/account/security"
    yield "account_security-error", "change-password", dict(current_password="no", new_password="short")
    yield "account_security-passkey", press("[data-passkey=create]:enabled", "[name=passkey_id]")
    yield "account_security-codes", press("button[value=make-codes]", "#codes")
    yield "account_totp", press("button[value=add-totp]", "[name=setup]")
    yield "account_totp-error", "confirm-totp", dict(code="12345")


def elsewhere(site, browser):
    site.offer()
    yield "account_security-elsewhere", lambda: browser.open_until("/account/security", "button[name=provider]")
    yield "sign_in-elsewhere", site.authorize(prompt="login")
    yield None, "/account/security"
    yield None, lambda: browser.press("button[name=provider]")
    yield None, "sign-in", dict(email=EMAIL, password=PASSWORD)
    yield None, "allow"
    yield "account_security-linked", lambda: browser.find("input[name=identity]")
    yield "error-provider", "/sign-in/with/office/callback?error=access_denied"
    site.configure()


def devices(site, browser):
    yield "account_devices", lambda: browser.open("/account/devices") or browser.find(".live.on")
    for number, (name, platform) in enumerate([("Ada’s phone", "ios"), ("Study", "macos"), ("The build server in the room beside the library", "linux")]):
        site.sign_in(NEW_EMAIL, PASSWORD, f"d-{number}", name, platform)
    yield "account_devices-many", lambda: browser.open("/account/devices") or browser.find(".live.on")
    for _ in range(2):
        Person(NEW_EMAIL, PASSWORD).pass_through(site.issuer + "/sign-in")
    yield "account_devices-groups", lambda: browser.open("/account/devices") or browser.find(".live.on")
    yield "confirm_end", "/account/devices/end"
    yield "account_activity", "/account/activity"


def applications(site, browser):
    yield "account_apps", "/account/apps"
    yield "consent", site.authorize()
    yield None, "allow"
    yield "consent-long", site.authorize("shop", scope=SCOPES)
    yield None, "allow"
    yield "consent-this-computer", site.authorize("cli", redirect=f"http://127.0.0.1:{site.port}/callback")
    yield "account_apps-several", "/account/apps"
    yield "device_code", "/device"
    yield "device_code-wrong", "look", dict(user_code="BBBB-BBBB")
    for answer, name in [("deny", "device_allow"), ("allow", None)]:
        code = Client(site).form("/oauth/device_authorization", dict(client_id="cli", scope="profile")).json["user_code"]
        yield name, "/device?user_code=" + code
        yield "device-" + answer, answer


def faults(site, browser):
    def guess():
        browser.open("/device?user_code=" + "".join(secrets.choice("BCDFGHJKLMNPQRSTVWXZ") for _ in range(8)))
        return browser.title() in ("Too many attempts", "Zu viele Versuche")

    yield "error-not_found", "/nothing/here"
    yield "error-request_invalid", site.authorize("no-such-client")
    yield None, "/account/email"
    yield None, lambda: browser.script("document.querySelector('main [name=csrf]').value = 'x'")
    yield "error-form_expired", "change", dict(new_email="x@example.org")
    yield "error-too_many", lambda: browser.wait(guess, "guesses of codes have no limit")
    site.configure(**{"reauthenticate-after": "1s"})
    yield "sign_in-confirm", lambda: browser.open_until("/account/devices/end", "button[value=sign-in]")
    yield "logout", "/oauth/logout?client_id=wiki"
    yield "logout-done", "sign-out"


def forgotten(site, browser):
    yield "recover", "/recover"
    yield "recover-wrong", "recover", dict(email=NEW_EMAIL, recovery_code="aaaa-bbbb")
    yield "forgot", "/forgot-password"
    yield "forgot-error", "send", dict(email="countess")
    yield "forgot-sent", "send", dict(email=NEW_EMAIL)
    link = site.link("/reset-password")
    yield "reset", link
    yield "reset-error", "reset", dict(new_password="short")
    yield "reset-done", "reset", dict(new_password=NEXT)
    yield "reset-expired", link
    yield None, "/sign-in?next=/account/delete"
    yield None, "sign-in", dict(email=NEW_EMAIL, password=NEXT)
    yield None, lambda: browser.at("/account/delete")
    yield "deleted", "delete", dict(typed_email=NEW_EMAIL, password=NEXT)
