"""Draws docs/tour.svg: the closing table of `make run`, in the words of someone who has not read the code."""
import re, sys

from drawing.canvas import Canvas

# Each step of the tour: the fault, and the result if the step passes. A step fails on anything else.
WORDS = {
    "sign up, sign in, a request": ("A user signs up, signs in and sends a request", "answered"),
    "1,000 tasks at expiry": ("The token expires while 1,000 tasks need it", "one refresh for all of them"),
    "20 processes at expiry": ("The token expires while 20 processes need it", "one refresh for all of them"),
    "a response is lost on the wire": ("The response to a refresh is lost", "still signed in"),
    "a client is killed before it saves": ("The app is killed before it saves the new token", "still signed in at the next start"),
    "the server is killed under load": ("The server is killed with eight devices at work", "all still signed in, no change lost"),
    "a second device comes and goes": ("One device signs another one out", "signed out immediately, with the reason"),
    "a thief with a copied token": ("A thief uses a copied refresh token", "noticed: both are signed out"),
    "a server without rotation keys": ("The same client at another OAuth server", "still signed in"),
    "sign-out, even without a server": ("Sign-out while the server is down", "signed out; revoked when it is back"),
}
WIDTH, ROW, TOP, COLUMNS = 880, 32, 88, (28, 64, 512)


def draw(output):
    """From what the tour prints. Ends with a message if the tour failed, or has a step without words."""
    if not re.search(r"^all steps passed\b", output, re.M):
        sys.exit("the tour failed:\n" + output)
    titles = re.findall(r"^\d+ +(.+?)  +", output[output.index("STEP"):], re.M)
    if unknown := set(titles) ^ set(WORDS):
        sys.exit(f"the tour has other steps: {', '.join(sorted(unknown))}\nhint: WORDS in scripts/drawing/tour.py")
    rows, height = [WORDS[title] for title in titles], TOP + ROW * len(titles) + 4
    c = Canvas("make run: the steps of the tour, all passed", "; ".join(map(": ".join, rows)))
    c.box(0.5, 0.5, WIDTH - 1, height - 1, "paper", "edge", 10)
    c.text(COLUMNS[0], 34, "make run", kind="strong")
    c.text(COLUMNS[0] + 72, 34, "plays this with real processes, and checks the result", color="dim")
    for x, head in zip(COLUMNS[1:], ("What happens", "The result")):
        c.text(x, 66, head, "dim", "bold")
    for y, (fault, result) in zip(range(TOP, height, ROW), rows):
        c.line(COLUMNS[0], y - 10, WIDTH - COLUMNS[0], y - 10, "edge")
        c.text(COLUMNS[0] + 4, y + 11, "✓", "green", "bold")
        c.text(COLUMNS[1], y + 11, fault)
        c.text(COLUMNS[2], y + 11, result)
    return c.document(WIDTH, height)
