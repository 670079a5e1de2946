"""Chromium: in a language, in light and dark, on a phone and a desktop, with an authenticator of its own (WebAuthn Level 2 section 11)."""
import base64, shutil, tempfile, time

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.common.virtual_authenticator import VirtualAuthenticatorOptions

from kit.web import Lost

PHONE, DESKTOP = (320, 640), (1280, 900)

WITHOUT_OFFERS = "if (window.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = async () => false;"


class Chromium:
    def __init__(self, origin, language="en", phone=None):
        """A phone is one that is emulated, and runs no scripts."""
        self.origin, self.profile = origin, tempfile.mkdtemp(prefix="pages-")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         f"--user-data-dir={self.profile}", f"--accept-lang={language}", f"--lang={language}"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        if phone:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
            options.add_experimental_option("mobileEmulation", phone)
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_page_load_timeout(60)
        if not phone:
            choices = VirtualAuthenticatorOptions()
            choices.protocol, choices.transport = VirtualAuthenticatorOptions.Protocol.CTAP2, VirtualAuthenticatorOptions.Transport.INTERNAL
            choices.has_resident_key = choices.has_user_verification = choices.is_user_verified = choices.is_user_consenting = True
            self.driver.add_virtual_authenticator(choices)
            # It would take what a form offers at once, where a person looks first.
            self.command("Page.addScriptToEvaluateOnNewDocument", source=WITHOUT_OFFERS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    # What a person does

    def open(self, address):
        self.driver.get(address if address.startswith("http") else self.origin + address)

    def submit(self, action, **fields):
        """Fills in the form that has this button, and presses it, also if the browser would complain."""
        button = self.find(f"button[name=action][value={action}]")
        form = button.find_element(By.XPATH, "./ancestor::form")
        for name, text in fields.items():
            self.type(form.find_element(By.NAME, name), text)
        self.script("arguments[0].noValidate = true", form)
        self.leave(button.click)

    def press(self, selector):
        self.find(selector).click()

    def fill(self, name, text):
        self.type(self.find(f"[name={name}]"), text)

    def type(self, field, text):
        field.clear()
        field.send_keys(text)

    def enter(self, selector):
        """Presses by the keyboard: the driver's click needs the page's script."""
        self.leave(lambda: self.find(selector).send_keys(Keys.ENTER))

    def leave(self, work):
        """Does what loads another page, and waits for it."""
        old = self.driver.find_element(By.TAG_NAME, "html")
        work()

        def is_left():
            try:
                old.is_enabled()
            except WebDriverException:
                return self.script("return document.readyState") == "complete"
        self.wait(is_left, "nothing happens", 30)

    def find(self, selector):
        return self.wait(lambda: self.driver.find_elements(By.CSS_SELECTOR, selector), "no " + selector)[0]

    def wait(self, condition, words, seconds=20):
        """Until the condition holds; a page that changes meanwhile is asked again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := condition():
                    return found
            except WebDriverException:
                pass
            time.sleep(0.01)
        raise Lost(f"{words} at {self.driver.current_url}: {self.text()[:500]}")

    def open_until(self, address, selector):
        """Opens an address again and again, until its page has a part."""
        self.wait(lambda: self.open(address) or self.has(selector), f"no {selector} at {address}")

    def sees(self, words):
        self.wait(lambda: words in self.driver.find_element(By.TAG_NAME, "main").text, f"“{words}” is missing")

    def at(self, path):
        self.wait(lambda: self.driver.current_url.split("?")[0] == self.origin + path, f"not at {path}")

    def has(self, selector):
        return bool(self.driver.find_elements(By.CSS_SELECTOR, selector))

    # What it looks like

    def title(self):
        return self.driver.title.split(" · ")[0]

    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def light(self, is_dark):
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def size(self, size):
        self.command("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                     mobile=size == PHONE)

    def shot(self, path, format="png", whole=True):
        """A picture of the whole page, or of what the window shows."""
        picture = self.command("Page.captureScreenshot", captureBeyondViewport=whole, format=format)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def complaints(self):
        """What the console says, but for the status of the page itself, which is its content, and for a header that did its work."""
        expected = ["the server responded with a status of 4", ": Cleared data types: "]
        return [entry["message"] for entry in self.driver.get_log("browser")
                if not any(words in entry["message"] for words in expected)]
