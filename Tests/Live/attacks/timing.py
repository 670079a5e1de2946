"""Whether the time of an answer, or of the attacker's next request, tells which addresses have accounts."""
import math, statistics, time

from attacks.target import FREE, PASSWORD, Client, Holder, Server, install, require

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
    server = Server(*FREE)
    client = Client(server)
    for number in range(PAIRS):
        client.sign_up(f"known{number}@example.org", PASSWORD)
    holders = [Holder(client, client.guest()) for _ in range(8)]
    server.stop()
    server.start("--sign-up", "confirmed", "--rate-limits", "none")
    requests = {
        "reset": lambda email: client.post("/v1/password-reset", dict(email=email)),
        "sign-up": lambda email: client.post("/v1/sign-up", dict(email=email, password=PASSWORD, username="Ada", device=install("d"))),
        "sign-in": lambda email: client.sign_in(email, "a wrong password", "d-stranger")}
    figures, worst = [], 0

    def compare(name, known, blank):
        nonlocal worst
        score = z(known, blank)
        worst = max(worst, abs(score))
        figures.append(f"{name} {statistics.median(known) * 1000:.1f}/{statistics.median(blank) * 1000:.1f} ms z {score:+.1f}")

    for name, request in requests.items():
        times, afterwards = {"known": [], "blank": []}, {"known": [], "blank": []}
        for number in range(PAIRS):
            # Which comes first changes, so that neither always follows the other.
            for kind in ("known", "blank") if number % 2 else ("blank", "known"):
                start = time.perf_counter()
                answer = request(f"{kind}{number}@example.org")
                end = time.perf_counter()
                times[kind].append(end - start)
                require(answer.status in (202, 401), f"{name} of a {kind} address: {answer}")
                if name == "reset":
                    holders[number % len(holders)].refresh()
                    afterwards[kind].append(time.perf_counter() - end)
        compare(name, **times)
        if name == "reset":
            compare("refresh after it", **afterwards)
    require(worst <= 4, figure := "medians with/without an account: " + ", ".join(figures))
    return figure


ATTACKS = [timing]
