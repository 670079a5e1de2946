"""Draws docs/refresh.svg: a refresh whose response is lost with its client, and a thief, as recorded from a real run.

Without the thief, draws docs/refresh-retry.svg, which ends before that."""
from drawing.canvas import Canvas
from kit.web import require

LANES = {"vault": (96, "client's disk"), "client": (290, "client"), "server": (546, "server"), "thief": (786, "a thief")}
WIDTH, STEP, TOP = 880, 30, 112


class Sequence:
    def __init__(self, with_thief):
        told = ("The client stores a rotation key before it sends it. It is killed before the response arrives, sends the same token "
                "and key again, and gets the same successor.")
        self.lanes = [lane for name, lane in LANES.items() if with_thief or name != "thief"]
        self.legend = "T: refresh token    K: rotation key    A: access token"
        if with_thief:
            told += " A thief with the old token and another key ends the session."
            self.legend += "    K′: the thief's own key"
        self.canvas, self.y, self.parts, self.known = Canvas("A refresh whose response is lost", told), TOP, [], {}

    def name(self, kind, secret):
        """A placeholder for a secret, by the order in which they appear."""
        same = [name for (other, _), name in self.known.items() if other == kind]
        return self.known.setdefault((kind, secret), f"{kind}{'₀₁₂₃₄₅₆₇₈₉'[len(same) + (kind != 'T')]}")

    def part(self, words, color):
        self.parts.append((self.y - 18, words, color))
        self.y += 32

    def arrow(self, start, end, words, color="ink", lost=False):
        a, b = LANES[start][0], LANES[end][0]
        way = 1 if b > a else -1
        tip = a + (b - a) * 0.52 if lost else b - way * 7
        self.canvas.line(a + way * 7, self.y, tip - (0 if lost else way * 6), self.y, color, stroke_width=1.5)
        if lost:
            for sign in (1, -1):
                self.canvas.line(tip - 5, self.y - 5 * sign, tip + 5, self.y + 5 * sign, "red", stroke_width=2)
        else:
            self.canvas.add("path", d=f"M{tip},{self.y} l{-way * 8},-4 v8 z", class_=f"f-{color}")
        self.canvas.text((a + (tip if lost else b)) / 2, self.y - 7, words, color, "mono", text_anchor="middle")
        self.y += STEP

    def note(self, lane, words, color="dim", beside=False, side=0):
        """Over the lane, on a row of its own; or beside the lane, on the row of the last arrow."""
        width = len(words) * 6.6 + 22
        x = LANES[lane][0] + (14 if beside else side - width / 2)
        y = self.y - (STEP - 3 if beside else 0)
        self.canvas.box(x, y - 17, width, 24, "panel" if color == "dim" else f"{color}-wash", color, 12)
        self.canvas.text(x + width / 2, y - 1, words, color if color != "dim" else "ink", "small", text_anchor="middle")
        self.y += 0 if beside else STEP

    def document(self):
        height = self.y + 2
        back = Canvas(self.canvas.title, self.canvas.description)
        back.box(0.5, 0.5, WIDTH - 1, height - 1, "paper", "edge", 10)
        back.text(24, 26, self.legend, "dim", "small")
        for x, name in self.lanes:
            back.line(x, 72, x, self.y - 12, "faint", stroke_dasharray="2 4")
            back.box(x - 64, 40, 128, 32, "panel", "edge", 6)
            back.text(x, 61, name, "ink", "bold", text_anchor="middle")
        ends = [part[0] for part in self.parts[1:]] + [self.y - 8]
        for (top, words, color), end in zip(self.parts, ends):
            back.box(14, top + 2, 4, end - top - 12, color, radius=2)
            back.box(24, top, len(words) * 7.4 + 12, 20, "paper", radius=4)
            back.text(30, top + 14, words, color, "bold")
        back.shapes += self.canvas.shapes
        return back.document(WIDTH, height)


def draw(record, with_thief=True):
    s = Sequence(with_thief)
    lost, again, stolen, last = record["exchanges"]

    def request(exchange):
        key = "K′" if exchange is stolen else s.name("K", exchange["form"]["rotation_key"])
        return f"{s.name('T', exchange['form']['refresh_token'])}, {key}"

    def response(exchange):
        answer = exchange["answer"]
        if exchange["status"] == 200:
            return f"200  {s.name('T', answer['refresh_token'])}, {s.name('A', answer['access_token'])}"
        return f"{exchange['status']}  {answer['error']}"

    def changed(a, b):
        return a["vault"] != b["vault"]

    def row(exchange):
        sent = s.name("T", exchange["form"]["refresh_token"])
        if exchange["after"]["ended"]:
            return f"{sent} again, another key: session ended", "red"
        successor = s.name("T", exchange["answer"]["refresh_token"])
        if exchange["before"]["counter"] == exchange["after"]["counter"]:
            return f"the same key: {successor} again", "green"
        return f"{successor} replaces {sent}, committed", "blue"

    s.part("the client is killed before the response arrives", "blue")
    first = request(lost)
    if changed(record["calm"], lost["before"]):
        s.arrow("client", "vault", f"write {first.split(', ')[1]}", "blue")
    s.arrow("client", "server", f"POST /oauth/token  {first}", "blue")
    s.note("server", *row(lost), beside=True)
    s.arrow("server", "client", response(lost), "red", lost=True)
    if not changed(lost["before"], record["killed"]):
        s.note("vault", f"still {first}")
        s.y -= STEP
    s.note("client", "killed", "red")

    s.part("the next start sends the same token and key", "green")
    s.arrow("vault", "client", f"read {request(again)}", "green")
    s.arrow("client", "server", f"POST /oauth/token  {request(again)}", "green")
    s.note("server", *row(again), beside=True)
    s.arrow("server", "client", response(again), "green")
    if changed(again["after"], record["settled"]):
        s.arrow("client", "vault", f"store {s.name('T', again['answer']['refresh_token'])}", "green")
    require(record["again"]["out"] == again["answer"]["access_token"], "another token was printed")
    require(record["again"]["status"] == 0, "the command failed")
    s.note("client", "still signed in", "green", beside=True)
    if not with_thief:
        return s.document()

    s.part("a thief has a copied token, and another key", "red")
    s.arrow("thief", "server", request(stolen), "red")
    s.note("server", *row(stolen))
    s.arrow("server", "thief", response(stolen), "red")
    s.arrow("client", "server", f"POST /oauth/token  {request(last)}")
    s.arrow("server", "client", response(last), "red")
    words = next(line for line in record["last"]["words"].splitlines() if line.startswith("handstamp: "))
    s.note("client", words.removeprefix("handstamp: "), "red", side=60)
    return s.document()
