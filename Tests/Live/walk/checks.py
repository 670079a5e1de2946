"""What is checked of every view: axe-core, the accessibility tree, overflow, the keyboard, the console."""
import glob, os, re

from kit.chromium import DESKTOP, PHONE
from kit.pypi import interpreter

AXE = "0.1.0"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
# What a person can press or fill in.
REACHED = "a[href], button:not([disabled]), input:not([type=hidden]):not([disabled]), select, textarea, summary, [tabindex='0']"
STOPS = """
  const all = [...document.querySelectorAll(arguments[0])].filter((e) => e.checkVisibility() && e.tabIndex >= 0);
  window.stops = all.filter((e) => e.type !== "radio");
  return window.stops.length"""
STOP = """
  const e = document.activeElement, style = getComputedStyle(e), alone = e.textContent.trim() === e.parentElement.textContent.trim();
  const shown = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none";
  const small = e.type !== "checkbox" && (alone || style.display !== "inline") && e.getBoundingClientRect().height < 24;
  return [window.stops.indexOf(e), shown, small, e.outerHTML.slice(0, 120)]"""


# This axe is older than the last token of `autocomplete` (HTML, "webauthn"): it judges the rest of the attribute.
AXE_RUN = """
  const done = arguments[1], token = " webauthn", fields = document.querySelectorAll(`[autocomplete$="${token}"]`);
  for (const field of fields) field.autocomplete = field.autocomplete.slice(0, -token.length);
  axe.run(arguments[0]).then((r) => r.violations, (e) => [{id: String(e)}]).then((found) => {
    for (const field of fields) field.autocomplete += token;
    done(found);
  });"""


def axe_source():
    """The script of axe-core, from PyPI's axe-core-python."""
    environment = os.path.dirname(os.path.dirname(interpreter("axe", "--no-deps axe-core-python==" + AXE)))
    (script,) = glob.glob(environment + "/lib/*/site-packages/axe_core_python/axe.min.js")
    with open(script, encoding="utf-8") as file:
        return file.read()


def axe(browser, source):
    """What axe finds that is serious, in words."""
    browser.script(source)
    found = browser.driver.execute_async_script(AXE_RUN, RULES)
    return [f"{v['id']} ({v.get('impact')}): {v.get('help')}; {v['nodes'][0]['html'][:160] if v.get('nodes') else ''}"
            for v in found if v.get("impact") not in ("minor", "moderate")]


def overflow(browser):
    browser.size(PHONE)
    width = browser.script("return document.documentElement.scrollWidth")
    browser.size(DESKTOP)
    return [f"{width} px wide on a phone of {PHONE[0]}"] if width > PHONE[0] else []


def keyboard(browser):
    """Every stop of the Tab key, in order, with a visible focus, and 24 px high (WCAG 2.2 section 2.5.8)."""
    count = browser.script("document.activeElement.blur(); window.getSelection().removeAllRanges();" + STOPS, REACHED)
    browser.script("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
    faults, last = [], -1
    for _ in range(count):
        for kind in ["rawKeyDown", "keyUp"]:
            browser.command("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        index, shown, small, html = browser.script(STOP)
        if index != last + 1:
            return faults + [f"the Tab key goes from stop {last} to {index} of {count}: {html}"]
        faults += [f"the focus does not show: {html}"] * (not shown) + [f"the target is too small: {html}"] * small
        last = index
    return faults


def tree(browser):
    """What a screen reader is told, one line for each node."""
    nodes = browser.command("Accessibility.getFullAXTree")["nodes"]
    by_id, lines = {node["nodeId"]: node for node in nodes}, []

    def visit(node, depth):
        role = node.get("role", {}).get("value", "")
        if not node.get("ignored") and role not in ("InlineTextBox", "none", "generic", "LineBreak", "ListMarker"):
            name = node.get("name", {}).get("value", "")
            more = [name and f'"{plain(name)}"'] + [
                state(p["name"], p["value"].get("value")) for p in node.get("properties", [])]
            told = node.get("description", {}).get("value")
            lines.append("  " * depth + " ".join(filter(None, [role, *more, told and f"({plain(told)})"])))
            depth += 1
            # The text of a control is its name.
            if role in ("StaticText", "button", "link", "heading") and name:
                return
        for child in node.get("childIds", []):
            visit(by_id[child], depth)

    visit(nodes[0], 0)
    return "\n".join(lines)


def state(name, value):
    if name in ("level", "invalid", "required", "checked", "expanded", "disabled", "autocomplete"):
        return None if value in (False, "false", "") else name if value is True else f"{name}={value}"
    return None


def plain(text):
    """Without what differs between two runs."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"localhost:\d+|127\.0\.0\.1:\d+", "HOST", text)
    text = re.sub(r"\b[0-9a-f]{30,32}\b", "REQUEST", text)
    text = re.sub(r"\bacc_[\w-]+", "ACCOUNT", text)
    text = re.sub(r"\b(\d+ )?(seconds?|minutes?) ago\b|\bjust now\b|\bin (\d+ )?(seconds?|minutes?)\b", "TIME", text)
    text = re.sub(r"\b\d{1,2} \w+ \d{4}(,? (at )?\d{1,2}:\d\d)?( UTC)?", "DATE", text)
    text = re.sub(r"\b[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}\b", "CODE", text)
    text = re.sub(r"\b([A-Z2-7]{4} ){7}[A-Z2-7]{4}\b", "SECRET", text)
    return re.sub(r"\b([0-9a-z]{4}-){5}[0-9a-z]{4}\b", "RECOVERY", text)
