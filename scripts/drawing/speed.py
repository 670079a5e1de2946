"""Draws what `scripts/dev bench` measured: the processor time of requests, and the latency of a refresh."""
import math

from drawing.canvas import Canvas

REQUESTS = [("refresh", "refresh", ["hello", "sign", "commit", "read"]), ("me", "GET /v1/me", ["hello", "read"]),
            ("introspect", "introspection", ["hello", "read"])]
NAMES = {"hello": "HTTP", "sign": "signature", "commit": "durable commit", "read": "reading the row"}
COLORS = {"hello": "blue", "sign": "amber", "commit": "green", "read": "red"}
WIDTH = 640


def frame(title, below, description, height):
    canvas = Canvas(title, description)
    canvas.box(0.5, 0.5, WIDTH - 1, height - 1, fill="paper", edge="edge")
    canvas.text(24, 34, title, kind="bold")
    canvas.text(24, 54, below, color="dim", kind="small")
    return canvas


def cost(figures):
    terms, costs = figures["terms"], {name: figures[name, 32]["cost"] for name, _, _ in REQUESTS}
    canvas = frame(
        "Processor time of a request", "over 32 connections; in color, what no server of the kind can do without",
        "; ".join(f"{title}: {costs[name]:.0f} µs, of which {sum(terms[part] for part in parts):.0f} are the lower bound"
                  for name, title, parts in REQUESTS), 276)
    scale = 420 / max(costs.values())
    for index, (name, title, parts) in enumerate(REQUESTS):
        top, left = 78 + index * 42, 124
        canvas.text(left - 10, top + 18, title, kind="small", text_anchor="end")
        canvas.box(left, top, round(costs[name] * scale, 1), 26, fill="edge", radius=2)
        for part in parts:
            width = round(terms[part] * scale, 1)
            canvas.box(round(left, 1), top, width, 26, fill=COLORS[part], radius=2)
            left += width
        canvas.text(round(132 + costs[name] * scale, 1), top + 18, f"{costs[name]:.0f} µs", kind="small")
    legend = [(COLORS[part], f"{title}, {terms[part]:.0f} µs") for part, title in NAMES.items()] + [("edge", "everything else")]
    for index, (color, words) in enumerate(legend):
        left, top = 124 + index % 3 * 166, 216 + index // 3 * 26
        canvas.box(left, top, 12, 12, fill=color, radius=2)
        canvas.text(left + 18, top + 11, words, kind="small", color="dim")
    return canvas.document(WIDTH, 276)


def count(sessions):
    return f"{sessions / 1e6:.0f} million" if sessions >= 1e6 else f"{round(sessions, -3):,}"


def latency(figures):
    growth = sorted(figures["growth"].items())
    rate = round(growth[0][1]["rate"], -2)
    canvas = frame(
        "Latency of a refresh", f"{rate:,.0f} refreshes a second, half of the highest rate, by the number of sessions in the file",
        "; ".join(f"{size:,} sessions: median {row['p50']:.1f} ms, 99th percentile {row['p99']:.1f} ms" for size, row in growth), 300)
    highest = max(row["p99.9"] for _, row in growth)
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if highest / step <= 5)
    lines = math.ceil(highest / step)
    top, bottom, left, right = 80, 252, 76, WIDTH - 24
    height = (bottom - top) / (lines * step)
    for value in range(0, lines * step + 1, step):
        y = round(bottom - value * height, 1)
        canvas.line(left, y, right, y, color="edge")
        canvas.text(left - 8, y + 4, f"{value} ms" if value else "0", kind="small", color="dim", text_anchor="end")
    places = [round(left + 40 + index * (right - left - 160) / max(1, len(growth) - 1), 1) for index in range(len(growth))]
    for x, (size, _) in zip(places, growth):
        canvas.text(x, bottom + 24, count(size), kind="small", color="dim", text_anchor="middle")
    for name, title, color in (("p50", "median", "green"), ("p99", "99 %", "blue"), ("p99.9", "99.9 %", "amber")):
        points = [(x, round(bottom - row[name] * height, 1)) for x, (_, row) in zip(places, growth)]
        for (x1, y1), (x2, y2) in zip(points, points[1:]):
            canvas.line(x1, y1, x2, y2, color=color, stroke_width=2)
        for x, y in points:
            canvas.add("circle", cx=x, cy=y, r=3.5, class_=f"f-{color}")
        canvas.text(points[-1][0] + 12, points[-1][1] + 4, title, kind="small", color=color)
    return canvas.document(WIDTH, 300)
