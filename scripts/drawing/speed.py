"""Draws what `scripts/dev bench` measured."""
import math

from drawing.canvas import Canvas

REQUESTS = [("refresh", "refresh", ["hello", "sign", "commit", "read"]), ("me", "GET /v1/me", ["hello", "read"]), ("introspect", "introspection", ["hello", "read"])]
NAMES = {"hello": "HTTP", "sign": "signature", "commit": "durable commit", "read": "reading the row"}
COLORS = {"hello": "blue", "sign": "amber", "commit": "green", "read": "red"}


def draw(figures, path):
    terms, growth = figures["terms"], figures["growth"]
    canvas = Canvas(
        "Processor time and latency of the session server",
        "; ".join(f"{title}: {figures[name][32]['cost']:.0f} µs, of which {sum(terms[part] for part in parts):.0f} are the bound" for name, title, parts in REQUESTS)
        + "; " + "; ".join(f"{size:,} sessions: median {row['p50']:.1f} ms, 99th percentile {row['p99']:.1f} ms" for size, row in growth.items()))
    canvas.box(0.5, 0.5, 879, 299, fill="paper", edge="edge")
    canvas.text(24, 34, "Processor time of a request", kind="bold")
    canvas.text(24, 52, "32 connections; the colors are what it cannot do without", color="dim", kind="small")
    scale = 300 / max(figures[name][32]["cost"] for name, _, _ in REQUESTS)
    for index, (name, title, parts) in enumerate(REQUESTS):
        top, left = 76 + index * 46, 112
        cost = figures[name][32]["cost"]
        canvas.text(104, top + 18, title, kind="small", text_anchor="end")
        canvas.box(left, top, round(cost * scale, 1), 26, fill="edge", radius=2)
        for part in parts:
            width = round(terms[part] * scale, 1)
            canvas.box(round(left, 1), top, width, 26, fill=COLORS[part], radius=2)
            left += width
        canvas.text(round(118 + cost * scale, 1), top + 18, f"{cost:.0f} µs", kind="small")
    for index, (part, title) in enumerate(NAMES.items()):
        left, top = 112 + index % 2 * 170, 226 + index // 2 * 24
        canvas.box(left, top, 12, 12, fill=COLORS[part], radius=2)
        canvas.text(left + 18, top + 11, f"{title}, {terms[part]:.0f} µs", kind="small", color="dim")

    canvas.text(500, 34, "Latency of a refresh", kind="bold")
    rate = round(next(iter(growth.values()))["rate"], -2)
    canvas.text(500, 52, f"{rate:,.0f} a second, half of the highest rate, by sessions in the file", color="dim", kind="small")
    highest = max(row["p99.9"] for row in growth.values())
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if highest / step <= 5)
    top, bottom, left, right = 80, 244, 540, 850
    height = (bottom - top) / (math.ceil(highest / step) * step)
    for value in range(0, math.ceil(highest / step) * step + 1, step):
        y = round(bottom - value * height, 1)
        canvas.line(left, y, right, y, color="edge")
        canvas.text(left - 8, y + 4, f"{value} ms" if value else "0", kind="small", color="dim", text_anchor="end")
    sizes = sorted(growth)
    places = {size: left + 30 + index * (right - left - 90) / max(1, len(sizes) - 1) for index, size in enumerate(sizes)}
    for size in sizes:
        canvas.text(round(places[size], 1), bottom + 20, f"{size:,}", kind="small", color="dim", text_anchor="middle")
    for name, title, color in (("p50", "median", "green"), ("p99", "99 %", "blue"), ("p99.9", "99.9 %", "amber")):
        points = [(round(places[size], 1), round(bottom - growth[size][name] * height, 1)) for size in sizes]
        for (x1, y1), (x2, y2) in zip(points, points[1:]):
            canvas.line(x1, y1, x2, y2, color=color, stroke_width=2)
        for x, y in points:
            canvas.add("circle", cx=x, cy=y, r=3.5, class_=f"f-{color}")
        canvas.text(points[-1][0] + 10, points[-1][1] + 4, title, kind="small", color=color)
    with open(path, "w") as file:
        file.write(canvas.document(880, 300))
