"""Gives the graph that dot draws the colors of the other pictures, which follow dark mode."""
import re

from drawing.canvas import COLORS

# The colors that the graph names, and black, in which dot writes.
NAMES = {"white": "paper", "black": "ink", "#4a6fa5": "blue", "#9bb3d4": "edge", "#eef3fb": "panel", "#555555": "dim"}


def recolored(graph):
    def element(found):
        tag = found[0]
        if tag.startswith("<text") and "fill=" not in tag:
            tag = tag.replace("<text", '<text fill="black"', 1)
        colors = [(attribute, color) for attribute, color in re.findall(r' (fill|stroke)="([^"]*)"', tag) if color in NAMES]
        for attribute, color in colors:
            tag = tag.replace(f' {attribute}="{color}"', "")
        classes = " ".join(f"{attribute[0]}-{NAMES[color]}" for attribute, color in colors)
        return re.sub(r"^<(\w+)", rf'<\1 class="{classes}"', tag) if classes else tag

    graph = re.sub(r"(<svg [^>]*>)", rf"\1\n<style>{COLORS}</style>", graph, count=1)
    return re.sub(r"<(?:text|path|polygon) [^>]*>", element, graph)
