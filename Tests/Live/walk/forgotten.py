"""The walk of a person who forgot the password: on a phone, without script, from an application and back to it."""
from kit.chromium import Chromium
from kit.web import fields, require
from parties.hostile import Listener
from walk.site import Site

PHONE = {"deviceMetrics": {"width": 390, "height": 844, "pixelRatio": 2, "touch": True},
         "userAgent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
                      "Version/18.1 Mobile/15E148 Safari/604.1"}
EMAIL, OLD, NEW = "ada@example.org", "a long secret of Ada's", "what I can remember"


def forgotten():
    app = Listener(lambda request: request.give(b"<!doctype html><title>The app</title><h1>Welcome back</h1>", content_type="text/html"))
    site, back = Site(), f"http://localhost:{app.port}/callback"
    site.add("app", "--name", "The app", "--redirect-uri", back)
    site.begin()
    made = site.admin("accounts", "create", EMAIL)
    site.api("POST", "/v1/password-reset/confirm", dict(token=made["reset"]["code"], new_password=OLD))

    with Chromium(site.issuer, phone=PHONE) as phone:
        def see(*texts):
            for text in texts:
                require(text in phone.text() or text == phone.title(), f"no “{text}” in: {phone.text()[:600]}")

        def press(action, **fields):
            for name, text in fields.items():
                phone.fill(name, text)
            phone.enter(f"button[value={action}]")

        phone.open(site.authorize("app", redirect=back))
        see("Sign in", "The app")
        press("sign-in", email=EMAIL, password="I have no idea")
        see("The email address or the password is wrong.")
        # The address stays, and the error is beside the field.
        field = phone.find("[name=password]")
        require(field.get_attribute("aria-invalid") == "true", "the field is not marked")
        require(phone.find("#" + field.get_attribute("aria-describedby").split()[0]).is_displayed(), "the error is not shown")
        require(phone.find("[name=email]").get_attribute("value") == EMAIL, "the address is lost")
        phone.enter("a[href*='forgot-password']")
        see("Send link")
        press("send", email=EMAIL)
        see("Check your mail")
        phone.open(site.link("/reset-password"))
        see("Choose a new password")
        press("reset", new_password="password123")
        see("attackers")
        press("reset", new_password=NEW)
        see("Your password is set")
        phone.open(site.authorize("app", redirect=back))
        see("The app")
        press("sign-in", email=EMAIL, password=NEW)
        see("Allow")
        press("allow")
        see("Welcome back")
        asked = next(seen.path for seen in reversed(app.seen) if seen.path.startswith("/callback"))
        require("code" in fields(asked), f"no code: {asked}")
    app.close()
