"""A person at Chromium, whose authenticator is the browser's virtual one (WebAuthn Level 2 section 11)."""
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.virtual_authenticator import VirtualAuthenticatorOptions
from selenium.webdriver.support.ui import WebDriverWait

from parties.person import require


class PasskeyBrowser:
    def __init__(self, origin):
        self.origin = origin

    def __enter__(self):
        options = webdriver.ChromeOptions()
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1000,900"]:
            options.add_argument(argument)
        options.binary_location = "/usr/bin/chromium"
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        choices = VirtualAuthenticatorOptions()
        choices.protocol, choices.transport = VirtualAuthenticatorOptions.Protocol.CTAP2, VirtualAuthenticatorOptions.Transport.INTERNAL
        choices.has_resident_key = choices.has_user_verification = choices.is_user_verified = True
        choices.is_user_consenting = True
        self.driver.add_virtual_authenticator(choices)
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, path):
        self.driver.get(self.origin + path)

    def find(self, selector):
        return self.wait(lambda driver: driver.find_element(By.CSS_SELECTOR, selector), "no " + selector)

    def press(self, selector):
        self.find(selector).click()

    def fill(self, name, text):
        field = self.find(f"[name={name}]")
        field.clear()
        field.send_keys(text)

    def wait(self, condition, words):
        try:
            return WebDriverWait(self.driver, 15, ignored_exceptions=[Exception]).until(condition)
        except Exception:
            text = self.driver.find_element(By.TAG_NAME, "body").text
            require(False, f"{words} at {self.driver.current_url}: {text[:500]}")

    def sees(self, words):
        self.wait(lambda driver: words in driver.find_element(By.TAG_NAME, "main").text, f"“{words}” is missing")

    def walk(self, email, password):
        self.open("/sign-in?next=/account/security")
        self.fill("email", email)
        self.fill("password", password)
        self.press("button[value=sign-in]")
        self.sees("No passkeys yet.")
        self.press("[data-passkey=create]:enabled")
        self.sees("You can now sign in with your passkey.")
        self.press("[data-passkey=create]:enabled")
        self.sees("This device already has a passkey for your account.")
        self.sign_out()
        self.press("[data-passkey=get]:enabled")
        self.wait(lambda driver: driver.current_url.endswith("/account"), "the passkey does not sign in")
        self.sign_out()
        self.driver.set_user_verified(False)
        self.press("[data-passkey=get]:enabled")
        self.sees("No passkey was used.")
        self.driver.set_user_verified(True)
        self.driver.remove_all_credentials()
        self.press("[data-passkey=get]:enabled")
        self.sees("No passkey was used.")
        errors = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        require(not errors, f"the console says: {errors}")
        return "added on the page, not twice; signed in by the button; not without user verification, nor without the passkey"

    def sign_out(self):
        self.open("/account")
        self.press("button[value=sign-out]")
        self.wait(lambda driver: "/oauth/logout" in driver.current_url, "not signed out")
        self.open("/sign-in")
