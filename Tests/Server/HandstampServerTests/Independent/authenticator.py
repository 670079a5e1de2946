"""An authenticator app of others: pyotp's codes, and zbar's eyes. For tests.

    python3 authenticator.py < questions

Each line of input is a question, each line of output its answer: a JSON object. `scan` has the rows of a QR code, of 0 and 1; `show` has the
address that such a code has, and the time in seconds.
"""
import json, subprocess, sys, tempfile

import pyotp


def scan(question):
    scale = 4
    rows = [[value for value in row for _ in range(scale)] for row in question["rows"] for _ in range(scale)]
    lines = [f"P2 {len(rows[0])} {len(rows)} 1"] + [" ".join("0" if v == "1" else "1" for v in row) for row in rows]
    with tempfile.NamedTemporaryFile("w", suffix=".pgm") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        found = subprocess.run(
            ["zbarimg", "--quiet", "--raw", file.name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return {"text": found.stdout.rstrip("\n")}


def show(question):
    app = pyotp.parse_uri(question["uri"])
    return {"code": app.at(question["at"]), "name": app.name, "issuer": app.issuer}


for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = {"scan": scan, "show": show}[question["do"]](question)
    except Exception as fault:
        answer = {"refused": type(fault).__name__}
    print(json.dumps(answer), flush=True)
