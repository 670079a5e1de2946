"""Draws docs/tour.svg: what `make run` prints, as a terminal shows it."""

import re
import subprocess
import sys

from drawing import canvas

# The steps that are shown in full; of the others, the table has a row.
SHOWN = ("a response is lost on the wire", "a client is killed before it saves", "a thief with a copied token")
WIDTH, LINE, CHARACTER, LEFT, TOP = 880, 20, 7.8, 28, 76


def chosen(output):
    """Returns the lines to show, and the color of each."""
    blocks = output.strip().split("\n\n")
    lines = [("$ make run", "prompt"), ("", "ink")]
    for block in blocks[:-1]:
        head, *rest = block.splitlines()
        if re.sub(r"^\d+ +", "", head) in SHOWN:
            lines += [(head, "title"), *((line, "dim") for line in rest), ("", "ink")]
        elif re.match(r"\d+ ", head) and lines[-2][0] != "…":
            lines += [("…", "faint"), ("", "ink")]
        elif head.split() == ["STEP", "RESULT", "TIME"]:
            lines += [(head, "dim"), *((line, "ink") for line in rest), ("", "ink")]
    return lines + [(blocks[-1].strip(), "green")]


def draw(output):
    lines = chosen(output)
    height = TOP + LINE * len(lines) + 8
    c = canvas.Canvas("make run in a terminal", "\n".join(text for text, _ in lines))
    c.box(0.5, 0.5, WIDTH - 1, height - 1, "panel", "edge", 10)
    c.line(1, 40, WIDTH - 1, 40, "edge")
    for index, color in enumerate(("red", "amber", "green")):
        c.add("circle", cx=24 + 20 * index, cy=20.5, r=6, class_=f"f-{color}")
    c.text(WIDTH / 2, 25, "make run", "dim", "bold", text_anchor="middle")
    for index, (text, color) in enumerate(lines):
        y = TOP + LINE * index
        kind, part = ("strong", "ink") if color in ("prompt", "title", "green") else ("mono", color)
        if color == "green":
            part = color
        if not text:
            continue
        # The grid of a terminal, whatever font there is.
        words = text.strip()
        start = len(text) - len(text.lstrip())
        c.text(
            round(LEFT + start * CHARACTER, 1), y, words, part, kind, textLength=round(len(words) * CHARACTER, 1),
            lengthAdjust="spacingAndGlyphs")
    return c.document(WIDTH, height)


def run(program):
    done = subprocess.run([program], stdout=subprocess.PIPE, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit("the tour failed:\n" + done.stdout)
    return done.stdout
