"""Prints docs/handstamp.1: the frame in docs/handstamp.1.in, the help of every command, and the JSON that the commands print, from a real run."""
import difflib, json, os, re, subprocess, sys, tempfile

from kit import build, server

NEEDS = ["--tests"]
PLACE = "docs/handstamp.1"
COMMON = {"json", "account", "quiet", "version", "help"}


def options(parser):
    parser.add_argument("--check", action="store_true", help="compare it: texts must be equal, and JSON must have the same members")


def run(*arguments, given=""):
    done = server.command(*arguments, text=given)
    if done.returncode:
        sys.exit(f"handstamp {' '.join(arguments)} exited with {done.returncode}: {done.stderr}")
    return done.stdout


def escaped(text):
    text = text.replace("\\", "\\e")
    return "\\&" + text if text.startswith((".", "'")) else text


def sentence(text):
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", ":")) else ".")


def prose(text):
    """Paragraphs as sentences; what is indented stays as it is."""
    lines = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("  "):
            lines += [".Bd -literal -offset indent", *(escaped(line[2:]) for line in paragraph.split("\n")), ".Ed"]
        else:
            lines.append(escaped(sentence(paragraph.replace("\n", " "))))
        lines.append(".Pp")
    return lines[:-1]


def options_of(arguments):
    lines = []
    for argument in arguments:
        about = sentence(escaped(argument.get("abstract", "")))
        if argument.get("defaultValue"):
            about += f" The default is {escaped(argument['defaultValue'])}."
        value = argument.get("valueName", "")
        if argument["kind"] == "positional":
            lines.append(f".It Ar {value}")
        else:
            names = [("-" + n["name"]) if n["kind"] != "short" else n["name"] for n in argument["names"]]
            of = f" Ar {value}" if argument["kind"] == "option" else ""
            lines.append(".It " + " , ".join(f"Fl {name}{of}" for name in names))
        lines.append(about)
    return [".Bl -tag -width Ds", *lines, ".El"] if lines else []


def section(command, path):
    path = path + [command["commandName"]]
    lines = [f".Ss {' '.join(path)}", escaped(sentence(command["abstract"]))]
    if command.get("discussion"):
        lines += [".Pp", *prose(command["discussion"])]
    shown = [a for a in command.get("arguments", []) if a.get("shouldDisplay", True)]
    common = [a["valueName"] for a in shown if a["kind"] != "positional" and a.get("valueName") in COMMON]
    lines += options_of([a for a in shown if a["kind"] == "positional" or a.get("valueName") not in common])
    also = [name for name in common if name not in ("version", "help")]
    if also:
        lines += [".Pp", "It also takes " + " and ".join([", ".join("--" + a for a in also[:-1])] * (len(also) > 1) + ["--" + also[-1]]) + "."]
    for child in command.get("subcommands", []):
        if child.get("shouldDisplay", True) and child["commandName"] != "help":
            lines += section(child, path)
    return lines


def listed(text, title):
    """A list of the program's own help: names, and what each means."""
    lines = []
    for line in text.split(title + ":\n")[1].split("\n\n")[0].split("\n"):
        name = re.match(r"  (\S+(?:, \d+)?)(?:  +(.*))?$", line)
        if name and not name[1].startswith("$"):
            lines.append([name[1], name[2] or ""])
        else:
            lines[-1][1] = (lines[-1][1] + " " + line.strip()).strip()
    return lines


def examples():
    """One example for each command that prints JSON."""
    with tempfile.TemporaryDirectory() as home:
        here = server.Server()
        try:
            here.launch()
            address, data = here.url, here.folder + "/data"
            os.environ["HANDSTAMP_HOME"] = home + "/ada"
            run("signup", "ada@example.org", "--server", address, "--device-name", "laptop", given="correct horse battery staple\n")
            clients = home + "/clients.json"
            run("admin", "clients", "add", "--clients", clients, "reader", "--name", "Reader", "--redirect-uri", "https://reader.example.org/callback")
            for words in [
                "token", "refresh", "status", "accounts", "sessions", "request /v1/session", "audit show", "audit verify", "key show", "doctor",
                "admin stats", "admin accounts list", "admin accounts show ada@example.org", "admin credentials ada@example.org",
                "admin sessions list ada@example.org", f"admin clients list --clients {clients}", "admin keys list",
                "admin keys rotate signing", f"admin database backup {home}/backup", "admin database check", "admin audit list",
                "admin accounts reset ada@example.org", "admin accounts disable ada@example.org",
            ]:
                words = words.split()
                place = ["--data", data] if words[0] == "admin" and words[1] != "clients" else []
                text = run(*words, *place, "--json").replace(address, "http://127.0.0.1:8080").replace(data, "/srv/server").replace(home + "/ada", "/home/ada").replace(home, "/srv")
                shown = [w for w in words if w not in ("--clients", clients)]
                yield " ".join(shown).replace(home, "/srv"), json.loads(text)
        finally:
            here.remove()


def shape(value):
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def short(value):
    """Long strings and lists say nothing more than their beginnings."""
    if isinstance(value, dict):
        return {name: short(member) for name, member in value.items()}
    if isinstance(value, list):
        return [short(member) for member in value[:1]]
    return value[:29] + "..." if isinstance(value, str) and len(value) > 32 and "http" not in value else value


def printed(value):
    """Objects without objects in them stand on one line, if they fit."""
    text = json.dumps(value, indent=1)
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda m: one if len(one := re.sub(r"\n\s*", " ", m[0])) <= 64 else m[0], text)


def manual(found):
    tree = json.loads(run("--experimental-dump-help"))["command"]
    own = tree["discussion"]
    commands = []
    for child in tree["subcommands"]:
        if child["commandName"] != "help":
            commands += section(child, ["handstamp"])
    outputs = []
    for words, value in found:
        outputs += [f".It Nm Ic {words} Fl -json", ".Bd -literal", *map(escaped, value.split("\n")), ".Ed"]
    parts = {
        "COMMANDS": commands,
        "GENERAL": prose(own.split("\n\nenvironment:")[0]),
        "ENVIRONMENT": [line for name, about in listed(own, "environment") for line in (f".It Ev {name}", escaped(sentence(about)))],
        "EXIT": [line for code, about in listed(own, "exit codes") for line in (f".It {code.replace(', ', ' , ')}", escaped(sentence(about)))],
        "JSON": outputs,
    }
    frame = open(PLACE + ".in").read()
    return re.sub(r"^@(\w+)@$", lambda m: "\n".join(parts[m[1]]), frame, flags=re.M)


def main(options):
    server.PROGRAM = build.program()
    present = open(PLACE).read() if os.path.exists(PLACE) else ""
    known = {}
    for words, text in re.findall(r"^\.It Nm Ic ([^\n]*) Fl -json\n\.Bd -literal\n(.*?)\n\.Ed$", present, flags=re.M | re.S):
        known[words] = text.replace("\\e", "\\").replace("\n\\&", "\n")
    found = []
    for words, value in examples():
        value = short(value)
        # Values that differ at each run are no change.
        same = words in known and shape(json.loads(known[words])) == shape(value)
        found.append((words, known[words] if same else printed(value)))
    text = manual(found)
    if not options.check:
        open(PLACE, "w").write(text)
    elif text != present:
        sys.stderr.writelines(difflib.unified_diff(present.splitlines(True), text.splitlines(True), "docs/handstamp.1", "the commands"))
        sys.exit("docs/handstamp.1 is not what the commands say.\nhint: scripts/dev manual")
    done = subprocess.run(["groff", "-mdoc", "-ww", "-z", "-Tutf8", PLACE], capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(done.stderr or "groff failed")
    return 0
