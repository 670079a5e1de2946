"""What the pictures share: colors for light and dark, and text that stays text."""
from xml.sax.saxutils import escape

SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
LIGHT = {
    "paper": "#ffffff", "panel": "#f6f8fa", "edge": "#d1d9e0", "ink": "#1f2328", "dim": "#59636e", "faint": "#8c959f", "blue": "#0969da", "green": "#1a7f37",
    "red": "#cf222e", "amber": "#9a6700", "blue-wash": "#ddf4ff", "green-wash": "#dafbe1", "red-wash": "#ffebe9",
}
DARK = {
    "paper": "#0d1117", "panel": "#151b23", "edge": "#3d444d", "ink": "#f0f6fc", "dim": "#9198a1", "faint": "#656c76", "blue": "#4493f8", "green": "#3fb950",
    "red": "#f85149", "amber": "#d29922", "blue-wash": "#121d2f", "green-wash": "#12261e", "red-wash": "#25171c",
}


def rules(colors):
    return "".join(f".f-{name}{{fill:{value}}}.s-{name}{{stroke:{value}}}" for name, value in colors.items())


COLORS = f"{rules(LIGHT)}@media(prefers-color-scheme:dark){{{rules(DARK)}}}"


class Canvas:
    """Collects shapes. Every color is the name of one in LIGHT and DARK."""

    def __init__(self, title, description):
        self.title, self.description, self.shapes = title, description, []

    def add(self, name, content="", **attributes):
        fields = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items())
        self.shapes.append(f"<{name}{fields}>{content}</{name}>" if content else f"<{name}{fields}/>")

    def text(self, x, y, words, color="ink", kind="sans", **attributes):
        self.add("text", escape(words), x=x, y=y, class_=f"{kind} f-{color}", **attributes)

    def line(self, x1, y1, x2, y2, color="dim", **attributes):
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=f"s-{color}", **attributes)

    def box(self, x, y, width, height, fill="paper", edge=None, radius=6):
        self.add("rect", x=x, y=y, width=width, height=height, rx=radius, class_=f"f-{fill}" + (f" s-{edge}" if edge else ""))

    def document(self, width, height):
        kinds = {"sans": f"13px {SANS}", "small": f"12px {SANS}", "bold": f"600 13px {SANS}", "mono": f"13px {MONO}", "strong": f"600 13px {MONO}"}
        style = "text{white-space:pre}" + "".join(f".{kind}{{font:{font}}}" for kind, font in kinds.items()) + COLORS
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            f' role="img" xml:space="preserve" aria-labelledby="title description">\n<title id="title">{escape(self.title)}</title>\n'
            f'<desc id="description">{escape(self.description)}</desc>\n<style>{style}</style>\n' + "\n".join(self.shapes) + "\n</svg>\n")
