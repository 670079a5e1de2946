"""Tests of the library that the verbs share."""
import contextlib, http.server, io, os, socket, subprocess, sys, tempfile, threading, unittest

from kit import build, load, platforms, report, silence, stages, web, xcode
from verbs import examples, test

SCRIPTS, KIT = os.path.abspath("scripts"), os.path.abspath("Tests/Live")
BUILD = """Fetching https://github.com/apple/swift-log.git
Building for debugging...
[1/1234] Compiling A a.swift
/src/a.swift:3:1: error: no such thing
 3 | oops
[12/1234] Compiling A b.swift
"""
REPORT = """<testsuites><testsuite>
<testcase classname="CoreTests.`A machine`" name="waits" time="0.5" />
<testcase classname="CoreTests" name="fails" time="1.5"><failure message="no" /></testcase>
<testcase classname="VaultTests.Suite" name="is left out" time="0"><skipped /></testcase>
</testsuite></testsuites>"""


class Compiler(unittest.TestCase):
    def test_is_needed_and_new_enough(self):
        for words, refusal in [
            ("", "there is no Swift compiler"), ("garbage", "there is no Swift compiler"), ("Swift version 6.2.4 (x)", "Swift 6.2 is too old"),
            ("Swift version 6.3 (x)", None), ("Apple Swift version 6.10.1", None), ("Swift version 7.0-dev", None),
        ]:
            with in_folder(**({"swift": f"echo '{words}'"} if words else {})), self.assertRaises(SystemExit) if refusal else contextlib.nullcontext() as end:
                build.check_compiler(os.getcwd() + "/swift")
            if refusal:
                self.assertRegex(str(end.exception), f"(?s)^{refusal}.*\nhint: ")


class Platforms(unittest.TestCase):
    @unittest.skipIf(sys.platform == "darwin", "the compiler has the real modules")
    def test_a_call_that_is_too_new_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            place = platforms.Platform("xros", folder)
            self.assertEqual(place.accepted(platforms.TOO_NEW), [])
            fine = {"'Mutex' is only available": "import Synchronization\n@available(visionOS 2, *) func lock() { _ = Mutex(0) }"}
            self.assertEqual(place.accepted(fine), list(fine))

    def test_a_later_release_in_a_comment_needs_an_attribute(self):
        stand_in = "/// iOS 16, macOS 13\nfunc old()\n/// tvOS 18\nfunc new()\n/// visionOS 2\n@available(visionOS 2, *)\nfunc stated()\n/// iOS 17.4\n@objc func a()\n"
        self.assertEqual(list(platforms.unstated(stand_in)), [3, 8])


class Xcode(unittest.TestCase):
    def test_finds_what_a_project_names_and_there_is_not(self):
        project = xcode.Project(xcode.PROJECT)
        self.assertEqual(list(project.problems()), [])
        for path in project.all("PBXFileSystemSynchronizedRootGroup"):
            path["path"] = path["path"].replace("Widget", "Gadget")
        for product in project.all("XCSwiftPackageProductDependency"):
            product["productName"] = product["productName"].replace("Testing", "Guessing")
        project.all("PBXNativeTarget")[0]["dependencies"].append("A" * 24)
        project.settings(project.objects[project.root])[0]["IPHONEOS_DEPLOYMENT_TARGET"] = "26.0"
        project.text += "\t\t" + "B" * 24 + " /* App */ = {\n"
        found = "\n".join(project.problems())
        for word in ("names no object: " + "A" * 24, "two objects have one key", "Sources/Gadget", "names no product: HandstampGuessing",
                     "DeviceTests: imports HandstampTesting", "IPHONEOS_DEPLOYMENT_TARGET is not 17.0"):
            self.assertIn(word, found)

    def test_compares_settings_with_the_code(self):
        code = 'static let name = "org.example.a"\nclass Shared: UIViewController\nlet task = "org.example.a.refresh"'
        good = {"keychain-access-groups": ["$(AppIdentifierPrefix)org.example.a"], "com.apple.security.application-groups": ["group.org.example.a"],
                "BGTaskSchedulerPermittedIdentifiers": ["org.example.a.refresh"], "NSExtension": {"NSExtensionPrincipalClass": "$(PRODUCT_MODULE_NAME).Shared"}}
        self.assertEqual(list(xcode.named_in(good, code)), [])
        bad = {"keychain-access-groups": ["org.example.a"], "com.apple.security.application-groups": ["group.org.example.b"],
               "BGTaskSchedulerPermittedIdentifiers": ["org.example.a.fetch"], "NSExtension": {"NSExtensionPrincipalClass": "$(PRODUCT_MODULE_NAME).Share"}}
        self.assertEqual(len(list(xcode.named_in(bad, code))), 4)

    def test_compares_the_workflow_with_the_project(self):
        text = ("-project Examples/AppShell/Other.xcodeproj -scheme AppShell\n-scheme Other -only-testing:OtherTests\n"
                "platform=tvOS Simulator,name=x\nplatform=macOS Simulator")
        found = list(xcode.workflow_problems(text, xcode.Project(xcode.PROJECT)))
        self.assertEqual([each.split(": ")[-1] for each in found], ["Examples/AppShell/Other.xcodeproj", "Other", "macOS", "OtherTests"])


class Packages(unittest.TestCase):
    def test_wait_for_an_apt_that_is_busy_for_ten_minutes_and_say_so_once(self):
        """On a machine without the libraries, whose apt-get is a script. Nothing sleeps."""
        busy = 'echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)" >&2; exit 100'
        for apt, status, waits, words in [
            ("echo >> calls; [ $(wc -l < calls) -gt 3 ] && exit 0; " + busy, 0, 3, "waiting for another apt, for at most 10 minutes: Could not get lock"),
            (busy, 1, 119, "hint: the whole output is in"),
            ('echo "E: Unable to locate package libargon2-dev" >&2; exit 100', 1, 0, "Unable to locate package"),
        ]:
            with in_folder(**{"apt-get": apt, "pkg-config": "exit 1", "sleep": "echo >> slept", "id": "echo 0"}):
                surroundings = dict(os.environ, PATH=f"{os.getcwd()}:{os.environ['PATH']}")
                done = subprocess.run(["sh", SCRIPTS + "/deps"], env=surroundings, stderr=subprocess.PIPE, text=True)
                slept = os.path.getsize("slept") if os.path.exists("slept") else 0
            self.assertEqual((done.returncode, slept, done.stderr.count(words)), (status, waits, 1))


class Silence(unittest.TestCase):
    LOG = "◇ Test `a b` started.\n◇ Test `c (d)` started.\n✔ Test `a b` passed after 0.1 seconds.\n"

    def test_ends_a_process_with_its_children_and_names_its_tests(self):
        with in_folder():
            with open("log", "w") as log:
                log.write(self.LOG)
                log.flush()
                process = subprocess.Popen(["sh", "-c", "sleep 300 & wait"], stdout=log)
            guard = silence.Guard(process, "log", limit=0.5)
            guard.thread.join(60)
            self.assertEqual(process.wait(60), -9)
            self.assertEqual(guard.words[1], "not finished: `c (d)`")
            self.assertEqual(silence.below(process.pid), {})

    def test_leaves_a_process_that_speaks(self):
        with in_folder():
            with open("log", "w") as log:
                process = subprocess.Popen(["sh", "-c", "for a in 1 2 3 4 5 6; do echo $a; sleep 0.2; done"], stdout=log)
            guard = silence.Guard(process, "log", limit=0.8)
            guard.thread.join(60)
            self.assertEqual((process.wait(60), guard.words), (0, []))


class Stages(unittest.TestCase):
    def test_finds_the_stage_of_a_line(self):
        found = [stages.stage(line) for line in BUILD.splitlines()]
        self.assertEqual(found[0], ("fetching packages", ""))
        self.assertEqual(found[2], ("compiling", "1 of 1,234"))
        self.assertIsNone(found[3])

    def test_shows_what_a_log_says_beside_progress(self):
        self.assertEqual(stages.findings(BUILD), ["/src/a.swift:3:1: error: no such thing", " 3 | oops"])
        crash = "error: signal 11\nRegisters:\nrax 0x1\nImages (68 omitted):\n0x0 libgcc\nBacktrace took 0.01s\n"
        self.assertEqual(stages.findings(crash), ["error: signal 11", "Backtrace took 0.01s"])

    def test_keeps_the_output_of_a_command_and_names_it_in_an_error(self):
        with in_folder(), contextlib.redirect_stderr(io.StringIO()) as words, self.assertRaises(SystemExit) as error:
            stages.run("some", [sys.executable, "-c", "print('[1/2] Compiling'); print('broken'); raise SystemExit(1)"])
        self.assertIn("broken", words.getvalue())
        self.assertNotIn("[1/2]", words.getvalue())
        self.assertIn(".build/logs/some.log", str(error.exception))


class Results(unittest.TestCase):
    def test_counts_tests_by_target(self):
        with in_folder():
            with open("report.xml", "w") as file:
                file.write(REPORT)
            found = test.results("report.xml")
        self.assertEqual([line.split() for line in test.summary(found)], [
            ["CoreTests", "2", "tests,", "1", "failed"], ["VaultTests", "1", "tests,", "1", "skipped"], ["total", "3", "tests,", "1", "failed,", "1", "skipped"]])

    def test_reports_each_case_and_the_failed_ones_at_the_end(self):
        def good():
            return "fine"

        def bad():
            raise web.Lost("not fine")
        with contextlib.redirect_stdout(io.StringIO()) as words:
            here = report.Report([good, bad])
            self.assertEqual(here.run_all(), 1)
        self.assertIn("FAILED bad", words.getvalue())
        self.assertIn("1 failed: bad\n", words.getvalue())
        self.assertIn("unknown: other", report.Report([good], ["other"]).unknown())


class Site(http.server.BaseHTTPRequestHandler):
    """A page with a form, which leads to an application."""
    protocol_version = "HTTP/1.1"
    seen = []
    answers = {
        "GET /closing": (200, "{}", {}), "POST /oauth/token": (200, '{"refresh_token":"next"}', {}),
        "GET /sign-in": (200, '<title>Sign in</title><form><input type="hidden" name="csrf" value="a&amp;b"><button value="sign-in">',
                         {"Set-Cookie": "form=1; Path=/"}),
        "POST /sign-in": (303, "", {"Location": "https://app.example.org/back?code=7", "Set-Cookie": "form=; Max-Age=0"}),
    }

    def do_GET(self):
        self.seen.append((self.headers["Cookie"], self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()))
        status, body, headers = self.answers.get(f"{self.command} {self.path}", (303, "", {"Location": "/sign-in"}))
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())
        self.close_connection = self.close_connection or self.path == "/closing"

    do_POST = do_GET

    def log_message(self, *_):
        pass


class Web(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        self.server.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def test_a_person_signs_in_and_returns_to_the_application(self):
        person = web.Person("ada@example.org", "secret")
        page = person.pass_through(f"http://127.0.0.1:{self.server.port}/", until="https://app.")
        self.assertEqual((page.status, web.fields(page.url)), (0, {"code": "7"}))
        cookie, body = Site.seen[-1]
        self.assertEqual(cookie, "form=1")
        self.assertIn("csrf=a%26b", body)
        self.assertEqual(list(person.cookies.values()), [{}])

    def test_a_client_tries_a_closed_connection_again_but_not_a_new_one(self):
        client = web.Client(self.server)
        self.assertEqual(client.get("/closing").status, 200)
        self.assertEqual(client.get("/closing").status, 200)
        client.retries = False
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            client.get("/closing")
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.server.port = other.getsockname()[1]
        with self.assertRaises(ConnectionError):
            web.Client(self.server).get("/closing")

    def test_a_load_passes_tokens_on_and_tells_of_wrong_answers(self):
        figures, left = load.drive(self.server.port, load.refresh, load.refreshed, [["a", "b"], ["c"]], 1)
        self.assertEqual(set(left), {"next"})
        self.assertGreater(figures["requests"], 3)
        figures, _ = load.drive(self.server.port, load.refresh, load.refreshed, [["a"], ["b"]], 0.5, rate=20)
        self.assertLess(figures["requests"], 16)
        with self.assertRaises(RuntimeError):
            load.drive(self.server.port, lambda token: load.get("/"), load.same, [["a"]], 0.1)


class Pages(unittest.TestCase):
    def test_counts_lines_of_code(self):
        self.assertEqual(list(examples.too_long("a", "// one\n\nlet a = 1\n", 1, 20)), [])
        self.assertEqual(len(list(examples.too_long("a", "let a = 1\nlet bbbbbbb = 1\n", 1, 10))), 2)


@contextlib.contextmanager
def in_folder(**scripts):
    """A folder with these scripts."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, text in scripts.items():
                with open(os.open(name, os.O_CREAT | os.O_WRONLY, 0o755), "w") as file:
                    file.write(f"#!/bin/sh\n{text}\n")
            yield
        finally:
            os.chdir(before)
