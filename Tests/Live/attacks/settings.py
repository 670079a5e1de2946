"""Attacks by what an operator sets up: files that others may write, templates, and settings that mean more than they say."""
import concurrent.futures, json, os, pathlib, shutil, subprocess, tempfile

import kit.server
from attacks.target import OWNER, PASSWORD, Client, Server, command, require


def tried(folder, *flags):
    """Starts a server on a folder. Returns whether it serves, and what it says."""
    process = subprocess.Popen(
        [kit.build.operators(kit.server.PROGRAM), "serve", "--data", folder + "/data", "--port", "0", "--log-level", "warning", *flags], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    serves = bool(process.stdout.readline())
    process.kill()
    return serves, process.communicate()[1]


def write(path, text, mode=0o644):
    path = pathlib.Path(path)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    path.chmod(mode)
    return str(path)


def open_files():
    """Lets every user of the machine write to a file of the server, which gives it accounts, keys or clients of theirs: it must not start,
    or say so."""
    server = Server("--sign-up", "open")
    Client(server).sign_up(OWNER, PASSWORD)
    server.stop()
    flags = {"/clients.json": "--clients", "/pages": "--pages", "/pages/footer.mustache": "--pages", "/config.json": "--config", "/token": "--admin-token-file"}
    for path, text in (("/pages/footer.mustache", "<p>ours</p>"), ("/config.json", {}), ("/token", "t" * 40)):
        write(server.folder + path, text)
    data = [path.name for path in pathlib.Path(server.folder, "data").iterdir() if path.is_file() and path.suffix != ".lock"]
    cases = [("/data", 0o777), ("/data", 0o1777), ("/data", 0o702), *(("/data/" + name, 0o666) for name in data), ("/data/keys.json", 0o644),
             ("/data/signing.pem", 0o644), *((path, 0o777 if path == "/pages" else 0o666) for path in flags)]

    def silent(case):
        path, mode = case
        with tempfile.TemporaryDirectory(prefix="attack-") as folder:
            shutil.copytree(server.folder, folder, dirs_exist_ok=True)
            # Others get at a file only where they get into its folder.
            if path.startswith("/data/"):
                os.chmod(folder + "/data", 0o755)
            os.chmod(folder + path, mode)
            serves, words = tried(folder, *([flags[path], folder + path.removesuffix("/footer.mustache")] if path in flags else []))
            return f"{path} with {mode:o}" if serves and not words else None

    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        found = list(filter(None, pool.map(silent, cases)))
    require(not found, f"it starts without a word: {', '.join(found)}")
    require(tried(server.folder)[0], "with files of its own it does not start")
    return f"{len(cases)} refused, or named"


def circles():
    """Gives the pages templates and texts that include themselves, and that would take for ever: `--check` refuses them, or the server
    serves on."""
    many, deep = 40, 1000
    cases = {
        "itself": {"sign_in.mustache": "{{> sign_in}}"}, "two": {"sign_in.mustache": "{{> a}}", "a.mustache": "{{> sign_in}}"},
        "a parent": {"sign_in.mustache": "{{< a}}{{$x}}{{/x}}{{/a}}", "a.mustache": "{{< sign_in}}{{/sign_in}}"},
        "in a block": {"sign_in.mustache": "{{< a}}{{$x}}{{> sign_in}}{{/x}}{{/a}}", "a.mustache": "{{$x}}{{/x}}"},
        "in a section": {"sign_in.mustache": "{{#csrf}}{{> sign_in}}{{/csrf}}"},
        "a text": {"fr.json": {"sign_in.title": "{{> sign_in.title}}"}, "sign_in.mustache": "{{> sign_in.title}}"},
        "text and template": {"fr.json": {"sign_in.title": "{{> sign_in}}"}, "sign_in.mustache": "{{> sign_in.title}}"},
        "other delimiters": {"sign_in.mustache": "{{=<% %>=}}<%> sign_in%>"},
        "a name from a value": {"en.mustache": "{{>*lang}}", "sign_in.mustache": "{{> en}}"},
        "a parent's name from a value": {"en.mustache": "{{<*lang}}{{/*lang}}", "sign_in.mustache": "{{> en}}"},
        "twice as long with each": {"sign_in.mustache": "{{> a0}}", f"a{many}.mustache": "x", **{
            f"a{number}.mustache": f"{{{{> a{number + 1}}}}}" * 2 for number in range(many)}},
        "a long chain": {"sign_in.mustache": "{{> a0}}", f"a{deep}.mustache": "x", **{
            f"a{number}.mustache": f"{{{{> a{number + 1}}}}}" for number in range(deep)}},
        "deep sections": {"sign_in.mustache": "{{#csrf}}" * 20000 + "{{/csrf}}" * 20000},
    }
    faults, refused = {}, 0
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        for number, (name, files) in enumerate(cases.items()):
            pages = f"{folder}/{number}"
            for file, text in files.items():
                write(f"{pages}/{file}", text)
            checked = command("serve", "--data", folder + "/none", "--pages", pages, "--check")
            if checked.returncode:
                refused += 1
                if checked.returncode != 64 or "hint:" not in checked.stderr:
                    faults[name] = f"--check ends with {checked.returncode}: {checked.stderr[-200:]}"
                continue
            server = Server("--sign-up", "open", "--pages", pages)
            try:
                for language in ("en", "fr"):
                    answer = Client(server, timeout=2).get("/sign-in?lang=" + language)
                    if answer.status != 200:
                        faults[name] = f"{answer.status}"
            except OSError as error:
                faults[name] = f"--check accepts it, and the first request gets {error!r}"
            if not server.runs():
                faults[name] = "--check accepts it, and the first request ends the server"
            server.stop()
    require(not faults, "; ".join(f"{name}: {words}" for name, words in faults.items()))
    return f"{len(cases)} sets of templates, {refused} refused"


def unsaid():
    """Sets up what is unsafe or has no effect: `--check` must say so, in whichever spelling and place, and refuse passwords and tokens in clear."""
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        public = {"--issuer": "https://id.example.org", "--trusted-proxies": "127.0.0.1", "--smtp": "smtps://mail.example.org",
                  "--mail-link": "https://app.example.org/{action}#{token}"}
        secret, silent, shown = "s" * 40, [], []

        def check(flags, **environment):
            pairs = [word for pair in {**public, **flags}.items() if pair[1] for word in pair]
            return command("serve", "--data", folder + "/data", *pairs, "--check", **environment)

        # Each value of a setting with what the warning is about: those of one round are checked together.
        unsafe = {
            "--trusted-proxies": ("prox", ["0.0.0.0/0", "::/0", "10.0.0.0/8,0.0.0.0/0", "0:0:0:0:0:0:0:0/0", "0.0.0.0/1,128.0.0.0/1", "::/1,8000::/1"]),
            "--mail-link": ("link", [
                "http://app.example.org/{action}#{token}", "HTTP://app.example.org/{token}", "http://127.0.0.1.example.org/{token}",
                "http://localhost.example.org/{token}", "Http://user@app.example.org/{token}"]),
            "--metrics-address": ("metrics", ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464", "example.org:9464"]),
            "--issuer": ("issuer", ["https://user@id.example.org", "https://user:secret@id.example.org", "https://:secret@id.example.org"]),
            "--idle-limit": ("the idle limit of sessions is", ["400d", "366d"]), "--browser-idle-limit": ("of browsers", ["91d", "400d"]),
            "--guest-idle-limit": ("guests", ["400d"]), "--sign-up": ("sign-up", ["open"]), "--rate-limits": ("limits sign-ins", ["none"]),
            "--admin-token-file": ("/token", [write(f"{folder}/token{mode:o}", secret, mode) for mode in (0o644, 0o604)]),
            "--database": ("--database", ["postgresql://a:secret@db.example.org/handstamp"]),
        }
        for number in range(max(len(values) for _, values in unsafe.values())):
            flags = {name: values[number] for name, (_, values) in unsafe.items() if number < len(values)}
            done = check(flags)
            if done.returncode:
                silent.append(f"{flags}: {done.stderr}")
            warned = [line for line in done.stderr.splitlines() if line.startswith("warning:")]
            silent += [f"{name} {value}" for name, value in flags.items() if not any(unsafe[name][0] in line for line in warned)]
            shown += [value for name, value in flags.items() if name == "--database" and ":secret@" in done.stdout.replace(flags["--issuer"], "")]
        clear = [{"--trusted-proxies": None, "--issuer": "http://" + place} for place in (
            "id.example.org", "10.0.0.5:8080", "127.0.0.1.example.org", "localhost.example.org", "127.0.0.1@example.org")]
        clear += [{"--trusted-proxies": None, "--issuer": None, "--host": host} for host in ("0.0.0.0", "::")]
        clear += [{"--host": "0.0.0.0", "--issuer": "http://id.example.org"}]
        for flags in clear:
            done = check(flags)
            require(done.returncode == 64 and not done.stdout and "hint:" in done.stderr, f"{flags}: {done.stderr}")
        refused = {f"variable {name}": ({}, {name: "x"}) for name in (
            "HANDSTAMP_SERVE_ISSUR", "HANDSTAMP_SERVE_Issuer", "HANDSTAMP_SERVE_SIGN-UP", "HANDSTAMP_SERVE_")}
        files = ['{"sign-upp": "closed"}', "sign-upp: closed\n", '{"sign_up": "closed"}', "Sign-Up: closed\n", '{"admin-token": "%s"}' % secret,
                 "serve:\n  sign-up: closed\n", '{"sign-up": "closed", "sign-up": "open"}', "sign-up: closed\nsign-up: open\n", '{"rate-limits": []}']
        for number, text in enumerate(files):
            refused[f"file {text}"] = {"--config": write(f"{folder}/{number}.{'json' if text[0] == '{' else 'yaml'}", text, 0o600)}, {}
        refused |= {f"proxies {text}": ({"--trusted-proxies": text}, {}) for text in ("1.2.3.4/0", "2001:db8::/0", "0/0", "*", "0.0.0.0/00")}
        database = dict(database="postgresql://a:secret@db.example.org/handstamp")
        refused["a database's password in a file for all"] = {"--config": write(folder + "/database.json", database)}, {}
        for name, (flags, environment) in refused.items():
            done = check(flags, **environment)
            if not (done.returncode == 64 and "hint:" in done.stderr) and "warning:" not in done.stderr:
                silent.append(name)
            if secret in done.stdout + done.stderr or ":secret@" in done.stdout + done.stderr:
                shown.append(name)
        done = check({"--admin-token-file": write(folder + "/own", secret, 0o600)})
        require(done.returncode == 0 and not done.stderr, f"the control: {done.stderr}")
        require(not silent, f"--check says nothing about {', '.join(silent)}")
        require(not shown, f"--check shows the secret of {', '.join(shown)}")
    return f"{sum(len(values) for _, values in unsafe.values()) + len(clear) + len(refused)} settings, each with a warning or a refusal"


ATTACKS = [open_files, circles, unsaid]
