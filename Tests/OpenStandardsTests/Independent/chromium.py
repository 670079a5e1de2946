#!/usr/bin/python3
"""Ada at a real browser: completes the pages with keyboard and mouse, and prints each result on a line."""
import shutil
import sys
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

page, password, code = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
profile = tempfile.mkdtemp(prefix="handstamp-chromium-")
options = Options()
options.binary_location = shutil.which("chromium")
for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}"]:
    options.add_argument(argument)
options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


def tell(kind, text):
    print(kind, text, flush=True)


def shown(title):
    WebDriverWait(driver, 60).until(lambda _: driver.title.startswith(title))
    tell("page", driver.title.split(" · ")[0])
    # Policy violations appear in the console.
    for entry in driver.get_log("browser"):
        tell("console", entry["message"])


def sign_in(word):
    email = driver.find_element(By.ID, "email")
    email.clear()
    email.send_keys("ada@example.org")
    driver.find_element(By.ID, "password").send_keys(word, Keys.ENTER)


try:
    driver.get(page)
    shown("Sign in")
    # The page sets the focus.
    tell("focus", driver.switch_to.active_element.get_attribute("id"))
    before = {cookie["name"]: cookie["value"] for cookie in driver.get_cookies()}
    sign_in("not the password")
    WebDriverWait(driver, 60).until(lambda _: driver.find_elements(By.CSS_SELECTOR, "[role=alert]"))
    tell("alert", driver.find_element(By.CSS_SELECTOR, "#password-error").text)
    sign_in(password)
    if code:
        shown("Connect a device")
        driver.find_element(By.ID, "user_code").send_keys(code, Keys.ENTER)
    shown("Allow")
    for cookie in sorted(driver.get_cookies(), key=lambda cookie: cookie["name"]):
        flags = [name for name in ("secure", "httpOnly") if cookie[name]]
        tell("cookie", " ".join([cookie["name"], *flags, cookie["sameSite"], cookie["path"]]))
        if before.get(cookie["name"]) == cookie["value"]:
            tell("kept", cookie["name"])
    tell("seen by scripts", driver.execute_script("return document.cookie") or "nothing")
    driver.find_element(By.CSS_SELECTOR, "button[value=allow]").click()
    if code:
        shown("Your device is connected")
    else:
        WebDriverWait(driver, 20).until(lambda _: not driver.current_url.startswith(page.split("/oauth/")[0]))
        tell("at", driver.current_url.split("?")[0])
    for entry in driver.get_log("browser"):
        tell("console", entry["message"])
finally:
    driver.quit()
    shutil.rmtree(profile, ignore_errors=True)
