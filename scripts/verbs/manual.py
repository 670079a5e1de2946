"""Prints the manual of each program, docs/handstamp.1 and docs/handstamp-server.1: the frame in a file that ends in .in, the help of every command, and
the JSON that the commands print, from a real run."""
import difflib, json, os, pathlib, re, subprocess, sys

from kit import build, server

NEEDS = ["--tests"]
COMMON = {"json", "account", "quiet", "version", "help"}


def options(parser):
    parser.add_argument("--check", action="store_true", help="compare it: texts must be equal, and JSON must have the same members")


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
    here = server.Server()
    try:
        here.launch()
        home, data, clients = here.folder, ["--data", here.folder + "/data"], ["--clients", here.folder + "/clients.json"]
        os.environ["HANDSTAMP_HOME"] = home + "/ada"
        server.told("signup", "ada@example.org", "--server", here.url, "--device-name", "laptop", text="correct horse battery staple\n")
        server.told("admin", "clients", "add", *clients, "reader", "--name", "Reader", "--redirect-uri", "https://reader.example.org/callback")
        for words in [
            "token", "refresh", "status", "accounts", "sessions", "request /v1/session", "audit show", "audit verify", "key show", "doctor",
            "admin stats", "admin accounts list", "admin accounts show ada@example.org", "admin credentials ada@example.org",
            "admin sessions list ada@example.org", "admin clients list", "admin keys list", "admin keys rotate signing", "admin database backup /srv/backup",
            "admin database check", "admin audit list", "admin accounts reset ada@example.org", "admin accounts disable ada@example.org",
        ]:
            place = clients if words.startswith("admin clients") else data if words.startswith("admin") else []
            text = json.dumps(server.told(*words.replace("/srv", home).split(), *place), ensure_ascii=False)
            for name, shown in ((here.url, "http://127.0.0.1:8080"), (data[1], "/srv/server"), (home + "/ada", "/home/ada"), (home, "/srv")):
                text = text.replace(name, shown)
            yield words, json.loads(text)
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


def manual(name, found):
    tree = json.loads(subprocess.run([server.PROGRAM + name.removeprefix("handstamp"), "--experimental-dump-help"], capture_output=True).stdout)["command"]
    own = tree["discussion"]
    parts = {
        "COMMANDS": [line for child in tree["subcommands"] if child["commandName"] != "help" for line in section(child, [name])],
        "GENERAL": prose(re.split("\n\n(?:environment|exit codes):", own)[0]),
        "ENVIRONMENT": [line for variable, about in listed(own, "environment") for line in (f".It Ev {variable}", escaped(sentence(about)))],
        "EXIT": [line for code, about in listed(own, "exit codes") for line in (f".It {code.replace(', ', ' , ')}", escaped(sentence(about)))],
        "JSON": [line for words, value in found
                 for line in (f".It Nm Ic {words} Fl -json", ".Bd -literal", *map(escaped, value.split("\n")), ".Ed")],
    }
    return re.sub(r"^@(\w+)@$", lambda m: "\n".join(parts[m[1]]), pathlib.Path(f"docs/{name}.1.in").read_text(), flags=re.M)


def main(options):
    server.PROGRAM, printed_by = build.program(), {name: [] for name in build.PROGRAMS}
    present = {name: pathlib.Path(f"docs/{name}.1").read_text() for name in build.PROGRAMS}
    known = {words: text.replace("\\e", "\\").replace("\n\\&", "\n") for words, text in re.findall(
        r"^\.It Nm Ic ([^\n]*) Fl -json\n\.Bd -literal\n(.*?)\n\.Ed$", "\n".join(present.values()), flags=re.M | re.S)}
    for words, value in examples():
        value = short(value)
        # Values that differ at each run are no change.
        same = words in known and shape(json.loads(known[words])) == shape(value)
        printed_by["handstamp-server" if words.startswith("admin") else "handstamp"].append((words, known[words] if same else printed(value)))
    for name, found in printed_by.items():
        place, text = f"docs/{name}.1", manual(name, found)
        if not options.check:
            pathlib.Path(place).write_text(text)
        elif text != present[name]:
            sys.stderr.writelines(difflib.unified_diff(present[name].splitlines(True), text.splitlines(True), place, "the commands"))
            sys.exit(f"{place} is not what the commands say.\nhint: scripts/dev manual")
        done = subprocess.run(["groff", "-mdoc", "-ww", "-z", "-Tutf8", place], capture_output=True, text=True)
        if done.returncode or done.stderr:
            sys.exit(done.stderr or "groff failed")
