"""Runs a forum on loopback, and a terminal reader for it.

With --tour, plays the life of an account in a terminal instead: sign in, browse, go offline, come back, be signed out by the server, sign in as another
user. With --bench, measures the store and the scrapers (release)."""
import glob, os, pathlib, re, signal, subprocess, sys
import urllib.parse

from kit import build, server
from kit.web import Lost, call, require, until

NEEDS = ["--tests"]
PACKAGE = ["--package-path", "Examples/ForumReader"]


def options(parser):
    parser.add_argument("--tour", action="store_true", help="plays the life of an account, in tmux")
    parser.add_argument("--bench", nargs="?", type=int, const=1_000_000, metavar="POSTS", help="with so many posts")


class Forum(server.Server):
    def __init__(self, program, sessions=""):
        super().__init__()
        self.program = program
        pathlib.Path(self.folder, "sessions").write_text(sessions)
        self.start()

    def start(self):
        """On its previous port."""
        log = self.folder + "/server.log"
        with open(log, "w") as file:
            self.process = subprocess.Popen([self.program, str(self.port or 0), self.folder + "/sessions"], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        found = until(lambda: re.search(r"^forum on http://127.0.0.1:(\d+)/$", open(log).read(), re.M), lambda: "the forum does not start: " + open(log).read())
        self.port = int(found[1])

    def control(self, **what):
        answer = call("POST", f"{self.url}/control?{urllib.parse.urlencode(what)}")
        require(answer.status < 300, f"control {what}: {answer}")


class Terminal:
    """The reader in tmux, restarted after every exit; all its files are below the folder."""

    def __init__(self, reader, forum):
        self.folder, self.session = forum.folder, f"forum-{os.getpid()}"
        with open(self.folder + "/sitting", "w") as file:
            file.write("\n".join([
                *(f"export {name}='{self.folder}/{place}'" for name, place in (
                    ("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config"))),
                "while :; do", f"  sh -c 'echo $$ > \"{self.folder}/pid\"; exec \"{reader}\" \"{forum.url}/\"'", "  echo ended", "  read -r _ || exit", "done\n"]))
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50", f"sh '{self.folder}/sitting'")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-u", "-L", self.session, *words], env=dict(os.environ, LC_ALL="C.UTF-8"), check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def keys(self, *keys):
        self.tmux("clear-history")
        self.tmux("send-keys", "-R")
        for key in keys:
            self.tmux("send-keys", *key)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-J", "-S", "-400")

    def last(self):
        """The last line."""
        return ([line for line in self.screen().split("\n") if line] or [""])[-1]

    def sees(self, *texts, seconds=60):
        """Waits for texts in the output since the last input."""
        for text in texts:
            until(lambda: text in self.screen(), lambda: f"did not see: {text}\n{self.screen()}", seconds)
            print("  sees: " + text, flush=True)

    def lacks(self, *texts):
        for text in texts:
            require(text not in self.screen(), f"saw: {text}\n{self.screen()}")

    def says(self, text, *seen):
        """Types at the prompt, so that no output arrives late, and waits for what follows."""
        until(lambda: re.fullmatch(r"(> |>|name: ?|password: ?)", self.last()), lambda: f"no prompt:\n{self.screen()}", 60)
        self.keys(("-l", "--", text), ("Enter",))
        self.sees(*seen)

    def plays(self, *moves):
        """Inputs, each with what follows."""
        for move in moves:
            self.says(*move)

    def signs_in(self, name, password):
        self.sees("name: ")
        self.says(name, "password: ")
        self.says(password)

    def kill(self):
        """Kills the reader, and starts it again."""
        with open(self.folder + "/pid") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        self.sees("ended")
        self.keys(("Enter",))

    def close(self):
        subprocess.run(["tmux", "-L", self.session, "kill-server"], stderr=subprocess.DEVNULL)


def stays_readable(forum, reader):
    print("signs in")
    reader.signs_in("ada", "wrong")
    reader.sees("wrong name or password")
    reader.signs_in("ada", "lovelace")
    reader.sees("signed in as ada", "== Discussion", "Caf")
    reader.lacks("lovelace")
    print("browses")
    reader.plays(("1", "1. General Nonsense: question 0 – who’s there? (Zoë, 89 replies, sticky, last post 09:30 Jan 1, 2026 by ada)", "page 1 of 2"),
                 ("1", "-- #1 ada, Jan 2, 2026 10:11", "naïve but bold text ☃ [:)]", "page 1 of 3"), ("b", "page 1 of 2"),
                 ("mark 2", "changed:", "question 1 – who’s there? (Zoë, 89 replies, bookmarked, last post"), ("marks", "1. General Nonsense: question 1"),
                 ("b", "page 1 of 2"), ("m", "1. A word to ada, 1 (Zoë, Feb 1, 2026 at 21:30, new)"),
                 ("1", "-- Zoë, Feb 1, 2026 21:30", "For your eyes only: note 421."))
    print("goes offline, and keeps reading")
    forum.end()
    reader.plays(("b", "A word to ada, 2"), ("r", "from memory: no network", "A word to ada, 2"), ("b", "question 3 "), ("1", "Answer 40 of thread 1000"))
    print("is killed, and has lost nothing")
    reader.sees("> ")
    reader.kill()
    reader.sees("signed in as ada", "Caf")
    reader.plays(("r", "from memory: no network"), ("1", "question 0 – who’s there?"), ("1", "Answer 40 of thread 1000"), ("m", "A word to ada, 2"),
                 ("1", "For your eyes only: note 421."), ("marks", "1. General Nonsense: question 1", "from memory: no network"))


def meets_the_server(forum, reader):
    print("comes back online, to a forum that has lost the bookmarks, and is then down, and shut with a ban")
    forum.start()
    reader.says("r", "nothing here any more")
    reader.lacks("from memory")
    for control, *seen in [(dict(state="down"), "from memory: the forum's database is down"), (dict(state="closed"), "the forum is closed: Back after tea."),
                           (dict(state="up"), "nothing new"), (dict(ban="ada"), "from memory: you are banned until November 3, 2027: Posted a bad pun.")]:
        forum.control(**control)
        reader.says("r", *seen)
    print("is signed out by the server")
    forum.control(pardon="ada")
    forum.control(kick="ada")
    reader.says("r", "you were signed out: the forum ended the session", "name: ")
    print("has a cookie that expires, and is warned")
    forum.control(life=15)
    reader.signs_in("ada", "lovelace")
    reader.sees("your sign-in expires in less than a day", "Caf")
    over = "you were signed out: the sign-in has expired"

    def expired():
        reader.last().startswith("name:") or reader.says("r")
        until(lambda: over in reader.screen() or "nothing new" in reader.screen(), lambda: f"no response:\n{reader.screen()}", 60)
        return over in reader.screen()
    until(expired, "the cookie does not expire", 60, 1)
    forum.control(life=31536000)


def leaves_nothing(forum, reader):
    print("signs in as another user, who sees nothing of the first")

    def databases():
        """One folder for each account, named by a digest."""
        return sorted(glob.glob(forum.folder + "/state/org.handstamp.forum/accounts/*/database"))

    first = databases()
    require(len(first) == 1, f"the first user has no database, or several: {first}")
    reader.signs_in("Zoë", "café")
    reader.sees("signed in as Zoë", "General Nonsense")
    reader.plays(("offline", "offline: nothing is fetched"), ("m", "nothing here yet"))
    reader.lacks("ada")
    reader.plays(("marks", "nothing here yet"), ("b", "nothing here yet"), ("b", "General Nonsense"), ("1", "nothing here yet"),
                 ("b", "General Nonsense"), ("offline", "General Nonsense"), ("m", "A word to Zoë, 1"))
    reader.lacks("note 421")
    require(len(databases()) == 2, "the second user has no database")
    print("signs out, and leaves nothing behind")
    reader.says("out", "signed out", "name: ")
    require(databases() == first, f"the wrong databases are there: {databases()}")
    until(lambda: not re.search(r" 7$", open(forum.folder + "/sessions").read(), re.M), "the forum was not notified of the sign-out")
    for place, _, names in os.walk(forum.folder):
        for name in names:
            # The process-wide cookie storage would have written here.
            require("cookies" not in name, f"cookies are on the disk in clear text: {place}/{name}")
            if os.path.isfile(f"{place}/{name}"):
                with open(f"{place}/{name}", "rb") as file:
                    text = file.read()
                require(b"lovelace" not in text and "café".encode() not in text, f"a password is on the disk: {place}/{name}")
    reader.tmux("send-keys", "C-d")
    reader.sees("ended")


def main(options):
    if options.bench:
        place = build.build("forum", *PACKAGE, "--scratch-path", build.TOGETHER, *build.OPTIONS, "-c", "release", "--product", "forum-bench", is_optimized=False)
        return subprocess.run([place + "/forum-bench", str(options.bench)]).returncode
    program, built = build.program("HandstampForumServer"), os.path.abspath(".build/debug/forum")
    # In CI the tests have left it there.
    if not (build.IN_CI and os.path.exists(built)):
        built = build.build("forum", *PACKAGE, *build.PACKAGE, "--product", "forum", is_optimized=False) + "/forum"
    reader = None
    try:
        forum = Forum(program)
        if not options.tour:
            print("users: ada, with the password lovelace; Zoë, with café")
            print(f"curl -X POST '{forum.url}/control?state=down' (or up, closed; or kick=ada, ban=ada, probate=ada, pardon=ada, life=3600)", flush=True)
            return subprocess.run([built, forum.url + "/"], env=dict(os.environ, XDG_STATE_HOME=forum.folder + "/state", XDG_DATA_HOME=forum.folder + "/data")).returncode
        reader = Terminal(built, forum)
        stays_readable(forum, reader)
        meets_the_server(forum, reader)
        leaves_nothing(forum, reader)
    except Lost as error:
        sys.exit(str(error))
    finally:
        if reader:
            reader.close()
        server.remove_all()
    print("the life of an account, in a terminal: every step passed")
