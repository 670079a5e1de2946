"""Whether the time of an answer, or of the attacker's next request, tells which addresses have accounts."""
import math, statistics, time

from attacks.target import Client, Holder, Lost, Server

PAIRS = 100


def z(ones, others):
    """How far the ranks of two samples are from chance (Mann-Whitney), in standard deviations. One slow answer counts as one."""
    ranked = sorted([(value, 0) for value in ones] + [(value, 1) for value in others])
    n, m = len(ones), len(others)
    ranks = sum(rank for rank, (_, which) in enumerate(ranked, 1) if which == 0)
    return (ranks - n * (n + m + 1) / 2) / math.sqrt(n * m * (n + m + 1) / 12)


def timing():
    """200 alternating requests each, half of them for addresses with an account: reset, sign-up and sign-in; and the attacker's own
    refresh after a reset."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    client, password = Client(server), "a long enough secret"
    for number in range(PAIRS):
        client.sign_up(f"known{number}@example.org", password)
    sessions = [client.guest() for _ in range(8)]
    server.stop()
    server.start("--sign-up", "confirmed", "--rate-limits", "none")
    client = Client(server)
    holders, turn = [Holder(client, session) for session in sessions], [0]

    def refresh():
        turn[0] += 1
        return holders[turn[0] % len(holders)].refresh()

    def reset(email):
        return client.post("/v1/password-reset", dict(email=email))

    def sign_up(email):
        return client.post("/v1/sign-up", dict(email=email, password=password, username="Ada", device=dict(
            id="d", name="n", platform="p")))

    def sign_in(email):
        return client.sign_in(email, "a wrong password", "d-stranger")

    def measure(request, afterwards=None):
        times = {"known": [], "blank": [], "then known": [], "then blank": []}
        for number in range(PAIRS):
            # Which comes first changes, so that neither always follows the other.
            for kind in ("known", "blank") if number % 2 else ("blank", "known"):
                email, start = f"{kind}{number}@example.org", time.perf_counter()
                answer = request(email)
                end = time.perf_counter()
                times[kind].append(end - start)
                if answer.status not in (202, 401):
                    raise Lost(f"{request.__name__} of a {kind} address: {answer.status} {answer.text}")
                if afterwards:
                    afterwards()
                    times["then " + kind].append(time.perf_counter() - end)
        return times

    figures, worst = [], 0

    def compare(name, known, blank):
        nonlocal worst
        score = z(known, blank)
        worst = max(worst, abs(score))
        figures.append(f"{name} {statistics.median(known) * 1000:.1f}/{statistics.median(blank) * 1000:.1f} ms z {score:+.1f}")

    for request, afterwards in ((reset, refresh), (sign_up, None), (sign_in, None)):
        times = measure(request, afterwards)
        compare(request.__name__.replace("_", "-"), times["known"], times["blank"])
        if afterwards:
            compare("refresh after it", times["then known"], times["then blank"])
    figure = "medians with/without an account: " + ", ".join(figures)
    if worst > 4:
        raise Lost(figure)
    return figure


ATTACKS = [timing]
