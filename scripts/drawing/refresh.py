"""Draws docs/refresh.svg: a refresh whose response is lost with its client, and a thief, as recorded from a real run."""

from drawing import canvas

LANES = {
    "vault": (106, "vault on disk"), "client": (318, "handstamp token"), "server": (606, "handstamp serve"),
    "thief": (786, "a thief"),
}
WIDTH, STEP, TOP = 880, 34, 92


class Names:
    """Placeholders for secrets, by the order in which they appear."""

    def __init__(self):
        self.known = {}

    def __call__(self, kind, secret):
        same = [value for (k, _), value in self.known.items() if k == kind]
        return self.known.setdefault((kind, secret), f"{kind}{'₀₁₂₃₄₅₆₇₈₉'[len(same) + (kind != 'T')]}")


class Sequence:
    def __init__(self):
        self.canvas = canvas.Canvas(
            "A refresh whose response is lost",
            "The client stores a rotation key before it sends it. It is killed before the response arrives, sends the same token "
            "and key again, and gets the same successor. A thief with the old token and another key ends the session.")
        self.y = TOP
        self.parts = []

    def part(self, words, color):
        self.parts.append((self.y - 18, words, color))
        self.y += 36

    def arrow(self, start, end, words, color="ink", lost=False):
        a, b = LANES[start][0], LANES[end][0]
        way = 1 if b > a else -1
        tip = b - way * 7 if not lost else a + (b - a) * 0.52
        self.canvas.line(a + way * 7, self.y, tip - (0 if lost else way * 6), self.y, color, stroke_width=1.5)
        if lost:
            for sign in (1, -1):
                self.canvas.line(tip - 5, self.y - 5 * sign, tip + 5, self.y + 5 * sign, "red", stroke_width=2)
        else:
            self.canvas.add("path", d=f"M{tip},{self.y} l{-way * 8},-4 v8 z", class_=f"f-{color}")
        middle = (a + b) / 2 if not lost else (a + tip) / 2
        self.canvas.text(middle, self.y - 7, words, color, "mono", text_anchor="middle")
        self.y += STEP

    def note(self, lane, words, color="dim", side=0):
        width = len(words) * 6.6 + 22
        x = LANES[lane][0] - width / 2 + side
        self.canvas.box(x, self.y - 17, width, 24, f"{color}-wash" if color in ("red", "green", "blue") else "panel", color, 12)
        self.canvas.text(x + width / 2, self.y - 1, words, color if color != "dim" else "ink", "small", text_anchor="middle")
        self.y += STEP

    def document(self):
        height = self.y + 34
        back = canvas.Canvas(self.canvas.title, self.canvas.description)
        back.box(0.5, 0.5, WIDTH - 1, height - 1, "paper", "edge", 10)
        for x, name in LANES.values():
            back.line(x, 54, x, self.y - 8, "faint", stroke_dasharray="2 4")
            back.box(x - 74, 20, 148, 34, "panel", "edge", 6)
            back.text(x, 42, name, "ink", "strong" if name.startswith("handstamp") else "bold", text_anchor="middle")
        ends = [part[0] for part in self.parts[1:]] + [self.y - 8]
        for (top, words, color), end in zip(self.parts, ends):
            back.box(14, top + 2, 4, end - top - 12, color, radius=2)
            back.box(24, top, len(words) * 7.4 + 12, 20, "paper", radius=4)
            back.text(30, top + 14, words, color, "bold")
        legend = "T: refresh token · K: rotation key · A: access token · K′: a key of the thief's own"
        back.text(WIDTH / 2, height - 18, legend, "dim", "small", text_anchor="middle")
        back.shapes += self.canvas.shapes
        return back.document(WIDTH, height)


def draw(record):
    name = Names()
    lost, again, stolen, last = record["exchanges"]

    def request(exchange):
        key = "K′" if exchange is stolen else name("K", exchange["form"]["rotation_key"])
        return f"{name('T', exchange['form']['refresh_token'])}, {key}"

    def response(exchange):
        answer = exchange["answer"]
        if exchange["status"] == 200:
            return f"200  {name('T', answer['refresh_token'])}, {name('A', answer['access_token'])}"
        return f"{exchange['status']}  {answer['error']}"

    def changed(a, b):
        return a["vault"] != b["vault"]

    def row(exchange):
        before, after = exchange["before"], exchange["after"]
        if after["ended"]:
            return f"session ended: {after['ended']}", "red"
        if before["counter"] == after["counter"]:
            return f"same key: counter stays {after['counter']}", "green"
        return f"counter {before['counter']} → {after['counter']}, committed", "blue"

    s = Sequence()
    s.part("the client dies before the answer arrives", "blue")
    first = request(lost)
    key = first.split(", ")[1]
    if changed(record["calm"], lost["before"]):
        s.arrow("client", "vault", f"write {key}", "blue")
    s.arrow("client", "server", f"POST /oauth/token  {first}", "blue")
    s.note("server", *row(lost))
    s.arrow("server", "client", response(lost), "red", lost=True)
    s.note("client", "killed before it could store the answer", "red")
    if not changed(lost["before"], record["killed"]):
        s.y -= STEP
        s.note("vault", f"still {first}", "dim")

    s.part("the next start: the same token and key", "green")
    s.arrow("vault", "client", f"read {request(again)}", "green")
    s.arrow("client", "server", f"POST /oauth/token  {request(again)}", "green")
    s.note("server", *row(again))
    s.arrow("server", "client", response(again), "green")
    if changed(again["after"], record["settled"]):
        s.arrow("client", "vault", f"store {name('T', again['answer']['refresh_token'])}", "green")
    assert record["again"]["out"] == again["answer"]["access_token"], "another token was printed"
    s.note("client", f"prints {name('A', record['again']['out'])}, exit {record['again']['status']}", "green")

    s.part("a thief: a copied token, another key", "red")
    s.arrow("thief", "server", request(stolen), "red")
    s.note("server", *row(stolen))
    s.arrow("server", "thief", response(stolen), "red")
    s.arrow("client", "server", f"POST /oauth/token  {request(last)}", "ink")
    s.arrow("server", "client", f"{response(last)}, {last['answer'].get('reason')}", "red")
    words = [line for line in record["last"]["words"].splitlines() if line.startswith("handstamp: ")][0]
    s.note("client", words.removeprefix("handstamp: "), "red", side=60)
    return s.document()
