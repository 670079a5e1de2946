"""Attacks by what an operator sets up: files that others may write, templates, settings that mean more than they say, routes behind a
proxy's rule."""
import json, os, re, shutil, subprocess, tempfile, threading

import kit.server
from attacks.person import PASSWORD
from attacks.target import Client, Server, command, require


def tried(folder, *flags):
    """Starts a server on a folder. Returns whether it serves, and what it says."""
    process = subprocess.Popen(
        [kit.server.PROGRAM, "serve", "--data", folder + "/data", "--port", "0", "--log-level", "warning", *flags], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    serves = bool(process.stdout.readline())
    process.kill()
    return serves, process.communicate()[1]


def open_files():
    """Lets every user of the machine write to a file of the server, which gives it accounts, keys or clients of theirs: it must not start,
    or say so."""
    server = Server("--sign-up", "open")
    Client(server).sign_up("owner@example.org", PASSWORD)
    server.stop()
    data, results = server.folder + "/data", {}
    for path, text in (("/pages/footer.mustache", "<p>ours</p>"), ("/config.json", "{}"), ("/token", "t" * 40), ("/app.json", "{}")):
        os.makedirs(os.path.dirname(server.folder + path), exist_ok=True)
        with open(server.folder + path, "w") as file:
            file.write(text)
    flags = {"/clients.json": "--clients", "/pages": "--pages", "/pages/footer.mustache": "--pages", "/config.json": "--config",
             "/token": "--admin-token-file"}
    paths = [("/data", 0o777), ("/data", 0o1777), ("/data", 0o702), *(
        ("/data/" + name, mode) for name in sorted(os.listdir(data)) if os.path.isfile(f"{data}/{name}") and not name.endswith(".lock")
        for mode in (0o666,))]
    paths += [("/data/keys.json", 0o644), ("/data/signing.pem", 0o644), *((path, 0o777 if path == "/pages" else 0o666) for path in flags)]

    def run(path, mode):
        with tempfile.TemporaryDirectory(prefix="attack-") as folder:
            shutil.copytree(server.folder, folder, dirs_exist_ok=True)
            # Others get at a file only where they get into its folder.
            if path.startswith("/data/"):
                os.chmod(folder + "/data", 0o755)
            os.chmod(folder + path, mode)
            more = [flags[path], folder + os.path.dirname(path) if path.endswith(".mustache") else folder + path] if path in flags else []
            serves, words = tried(folder, *more)
            results[path, mode] = serves, folder + path in words.replace("\\/", "/")
    threads = [threading.Thread(target=run, args=each) for each in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    silent = [f"{path} with {mode:o}" for (path, mode), (serves, words) in results.items()
              if serves and not words]
    require(not silent, f"it starts without a word: {', '.join(silent)}")
    require(tried(server.folder)[0], "with files of its own it does not start")
    return f"{len(results)} refused, or named"


def circles():
    """Gives the pages templates and texts that include themselves, and that would take for ever: `--check` refuses them, or the server
    serves on."""
    many, deep = 40, 1000
    cases = {
        "itself": {"sign_in.mustache": "{{> sign_in}}"},
        "two": {"sign_in.mustache": "{{> a}}", "a.mustache": "{{> sign_in}}"},
        "a parent": {"sign_in.mustache": "{{< a}}{{$x}}{{/x}}{{/a}}", "a.mustache": "{{< sign_in}}{{/sign_in}}"},
        "in a block": {"sign_in.mustache": "{{< a}}{{$x}}{{> sign_in}}{{/x}}{{/a}}", "a.mustache": "{{$x}}{{/x}}"},
        "in a section": {"sign_in.mustache": "{{#csrf}}{{> sign_in}}{{/csrf}}"},
        "a text": {"fr.json": {"sign_in.title": "{{> sign_in.title}}"}, "sign_in.mustache": "{{> sign_in.title}}"},
        "text and template": {"fr.json": {"sign_in.title": "{{> sign_in}}"}, "sign_in.mustache": "{{> sign_in.title}}"},
        "other delimiters": {"sign_in.mustache": "{{=<% %>=}}<%> sign_in%>"},
        "a name from a value": {"en.mustache": "{{>*lang}}", "sign_in.mustache": "{{> en}}"},
        "a parent's name from a value": {"en.mustache": "{{<*lang}}{{/*lang}}", "sign_in.mustache": "{{> en}}"},
        "twice as long with each": {"sign_in.mustache": "{{> a0}}", f"a{many}.mustache": "x", **{
            f"a{number}.mustache": "{{> a%d}}{{> a%d}}" % (number + 1, number + 1) for number in range(many)}},
        "a long chain": {"sign_in.mustache": "{{> a0}}", f"a{deep}.mustache": "x", **{
            f"a{number}.mustache": "{{> a%d}}" % (number + 1) for number in range(deep)}},
        "deep sections": {"sign_in.mustache": "{{#csrf}}" * 20000 + "{{/csrf}}" * 20000},
    }
    faults, refused = {}, 0
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        for number, (name, files) in enumerate(cases.items()):
            pages = f"{folder}/{number}"
            os.mkdir(pages)
            for file, text in files.items():
                with open(f"{pages}/{file}", "w") as out:
                    out.write(text if isinstance(text, str) else json.dumps(text))
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
    """Sets up what is unsafe or has no effect: `--check` must say so, in whichever spelling and place."""
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        def file(name, text, mode=0o644):
            with open(f"{folder}/{name}", "w") as out:
                out.write(text)
            os.chmod(f"{folder}/{name}", mode)
            return f"{folder}/{name}"

        def private(name, text):
            return file(name, text, 0o600)

        public = {"--issuer": "https://id.example.org", "--trusted-proxies": "127.0.0.1", "--smtp": "smtps://mail.example.org",
                  "--mail-link": "https://app.example.org/{action}#{token}"}

        def check(flags, environment={}):
            pairs = [word for pair in dict(public, **flags).items() for word in pair]
            return command("serve", "--data", folder + "/data", *pairs, "--check", **environment)

        def known(name, mode):
            return file(f"{name}{mode:o}", "s" * 40, mode)
        # Each value of a setting with what the warning is about: those of one round are checked together.
        unsafe = {
            "--trusted-proxies": ("prox", [
                "0.0.0.0/0", "::/0", "10.0.0.0/8,0.0.0.0/0", "0:0:0:0:0:0:0:0/0", "0.0.0.0/1,128.0.0.0/1", "::/1,8000::/1"]),
            "--mail-link": ("link", [
                "http://app.example.org/{action}#{token}", "HTTP://app.example.org/{token}", "http://127.0.0.1.example.org/{token}",
                "http://localhost.example.org/{token}", "Http://user@app.example.org/{token}"]),
            "--metrics-address": ("metrics", ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464", "example.org:9464"]),
            "--issuer": ("issuer", ["https://user@id.example.org", "https://user:secret@id.example.org", "https://:secret@id.example.org"]),
            "--idle-limit": ("the idle limit of sessions is", ["400d", "366d"]),
            "--browser-idle-limit": ("of browsers", ["91d", "400d"]),
            "--guest-idle-limit": ("guests", ["400d"]),
            "--sign-up": ("sign-up", ["open"]), "--rate-limits": ("limits sign-ins", ["none"]),
            "--admin-token-file": ("/token", [known("token", 0o644), known("token", 0o604)]),
            "--database": ("--database", ["postgresql://a:secret@db.example.org/handstamp"]),
        }
        rounds, silent, shown, count = max(len(values) for _, values in unsafe.values()), [], [], 0
        for number in range(rounds):
            flags = {name: values[number] for name, (_, values) in unsafe.items() if number < len(values)}
            done = check(flags)
            if done.returncode:
                silent.append(f"{flags}: {done.stderr}")
            warned = [line for line in done.stderr.splitlines() if line.startswith("warning:")]
            silent += [f"{name} {value}" for name, value in flags.items() if not any(unsafe[name][0] in line for line in warned)]
            shown += [value for name, value in flags.items() if name == "--database" and ":secret@" in done.stdout.replace(flags["--issuer"], "")]
            count += len(flags)
        refused = {"variable: " + name: ({}, {name: "x"}) for name in (
            "HANDSTAMP_SERVE_ISSUR", "HANDSTAMP_SERVE_Issuer", "HANDSTAMP_SERVE_SIGN-UP", "HANDSTAMP_SERVE_")}
        for name, text in (("a.json", '{"sign-upp": "closed"}'), ("b.yaml", "sign-upp: closed\n"), ("c.json", '{"sign_up": "closed"}'),
                           ("d.yaml", "Sign-Up: closed\n"), ("e.json", '{"admin-token": "%s"}' % ("s" * 40)), ("f.yaml", "serve:\n  sign-up: closed\n"),
                           ("g.json", '{"sign-up": "closed", "sign-up": "open"}'), ("h.yaml", "sign-up: closed\nsign-up: open\n"),
                           ("j.json", '{"rate-limits": []}')):
            refused[f"file: {text.strip()}"] = {"--config": private(name, text)}, {}
        password = file("k.json", '{"database": "postgresql://a:secret@db.example.org/handstamp"}')
        refused |= {"proxies " + text: ({"--trusted-proxies": text}, {}) for text in ("1.2.3.4/0", "2001:db8::/0", "0/0", "*", "0.0.0.0/00")}
        refused["a database's password in a file for all"] = {"--config": password}, {}
        for name, (flags, environment) in refused.items():
            done = check(flags, environment)
            if not (done.returncode == 64 and "hint:" in done.stderr) and "warning:" not in done.stderr:
                silent.append(name)
            if "s" * 40 in done.stdout + done.stderr or ":secret@" in done.stdout + done.stderr:
                shown.append(name)
        done = check({"--admin-token-file": private("own", "s" * 40)})
        require(done.returncode == 0 and not done.stderr, f"the control: {done.stderr}")
        require(not silent, f"--check says nothing about {', '.join(silent)}")
        require(not shown, f"--check shows the secret of {', '.join(shown)}")
    return f"{count + len(refused)} settings, each with a warning or a refusal"


def prefixed():
    """Reaches the administrator's routes by a path that a proxy's rule for /admin/ does not fit."""
    server = Server("--sign-up", "open", "--rate-limits", "none", administered=True)
    require(server.administer("GET", "/stats").status == 200, "the administrator is refused")
    head = f"HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.token}\r\nAccept: %s\r\nConnection: close\r\n\r\n"
    route = "/admin/v1/stats"
    paths = [before + route for before in (
        "/", "//", "/.", "/x/..", "/%2e", "/x/%2e%2e", "/%2f", "/%5c", "\\", "/\\", "/;", "/;x=y", "/%20", "/ ", "/%00", "/.;", "/v1/..", "/v1/..;",
        "http://a/", "http://a/.", "http:", "?", "/?", "/#", "*", "/v1%2f..", "/./..")]
    paths += ["/%2f" + route[1:], "/%5c" + route[1:], "\\" + route[1:], "/\\" + route[1:], route[1:], "/.%2f" + route[1:]]
    paths += ["/" + name + "/v1/stats" for name in ("%61dmin", "%61%64%6d%69%6e", "ADMIN", "Admin", "admin;x", "admin%2f", "admin%00", "admin.", "admin%20",
                                                     "adm%69n", "%2561dmin", "\u0430dmin", "ａdmin", "admın")]
    paths += ["/admin%2fv1%2fstats", "/admin%2Fv1/stats", "/admin\\v1\\stats", "/admin;/v1/stats", "/admin?/v1/stats"]
    for path in paths:
        for accept in ("*/*", "text/html"):
            text = server.raw(f"GET {path} {head % accept}".encode(), timeout=3)
            found = re.match(rb"HTTP/1.1 (\d+)", text)
            # The root leads to the account, or says where it is.
            is_root = path.startswith(("?", "/?", "/#"))
            require(found and int(found[1]) in (400, 404, 303, *([200] if is_root else [])), f"{path}: {text[:60]}")
            require(b"live_sessions" not in text, f"{path} reaches the route")
    return f"{len(paths)} spellings reach nothing"


ATTACKS = [open_files, circles, unsaid, prefixed]
