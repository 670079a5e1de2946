"""Runs all tests, those of Examples/ForumReader included (FILTER=pattern for some).

Tells one line a target, the failures again, and a total. Three processes share the machine: in two, the command's tests, one after the other, mostly
wait for programs; all others mostly compute."""
import collections, os, re, subprocess, sys, tempfile
import xml.etree.ElementTree as xml

from kit import build, silence, stages

NEEDS = ["--tests"]
FORUM = ["--package-path", "Examples/ForumReader", *build.PACKAGE]
Result = collections.namedtuple("Result", "target name seconds outcome")
# Tests wait for real servers and processes; on few cores, running all of them at once slows each of them down.
WIDTH = "SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"
# The suites of one of the two processes, which take about as long as all others of the command.
COMMAND, HALF = "HandstampCommandTests", "HandstampCommandTests.*(A damaged home|The tour|handstamp-server|A server (in|on)|handstamp key)"


def options(parser):
    halves = parser.add_mutually_exclusive_group()
    halves.add_argument("--build", action="store_true", help="only build them")
    halves.add_argument("--built", action="store_true", help="run those that --build has built")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="also list the N slowest tests")


def results(path):
    """The tests in a report of JUnit's form, by target. SwiftPM keeps the given name for XCTest; of a process that crashed there is half a report."""
    path = next((place for place in (path.removesuffix(".xml") + "-swift-testing.xml", path) if os.path.exists(place)), None)
    try:
        cases = list(xml.parse(path).iter("testcase")) if path else []
    except xml.ParseError:
        cases = []
    found = []
    for case in cases:
        outcome = "failed" if case.find("failure") is not None or case.find("error") is not None else "skipped" if case.find("skipped") is not None else "passed"
        found.append(Result(case.get("classname", "").split(".")[0], case.get("name"), float(case.get("time") or 0), outcome))
    return found


def summary(found):
    """One line a target, and a total."""
    lines = []
    for target in [*sorted({result.target for result in found}), None]:
        mine = [result for result in found if target in (None, result.target)]
        counts = collections.Counter(result.outcome for result in mine)
        rest = "".join(f", {counts[outcome]} {outcome}" for outcome in ("failed", "skipped") if counts[outcome])
        lines.append(f"{target or 'total':32}{len(mine):6,} tests{rest}")
    return lines


def progress(line):
    if re.match(r"[✔✘] Test (?!run)", line):
        progress.count += 1
    return ("testing", f"{progress.count:,} tests") if progress.count else None


progress.count = 0


class Run:
    """One process that tests, and its report."""

    def __init__(self, log, command, report):
        self.log, self.command, self.report, self.process = log, [*command, "--xunit-output", report], report, None

    def begin(self, surroundings):
        """In the background; a shell would let it ignore interrupts."""
        os.makedirs(stages.LOGS, exist_ok=True)
        with open(f"{stages.LOGS}/{self.log}.log", "w") as file:
            self.process = subprocess.Popen(self.command, env=surroundings, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        self.guard = silence.Guard(self.process, f"{stages.LOGS}/{self.log}.log")

    def watch(self, surroundings):
        self.status, _ = stages.watch(self.log, self.command, surroundings, progress=progress, begun=self.begun)

    def begun(self, process, path):
        self.guard = silence.Guard(process, path)

    def end(self):
        """The results, and what is wrong beside them. A process that ends early says so in its last line."""
        path = f"{stages.LOGS}/{self.log}.log"
        with open(path, errors="replace") as file:
            text = file.read()
        for line in re.findall(r"^[✔✘] Test run with .*$", text, re.M):
            print(line)
        good = self.status == 0 and re.search(r"^✔ Test run with [1-9]", text, re.M)
        words = [] if good else list(dict.fromkeys(re.findall(r"^(?:✘.*|.*error:.*|.*Fatal error.*)$", text, re.M)[-40:] + text.splitlines()[-1:])) + [
            f"exit status {self.status}: {' '.join(self.command[:2])}", f"hint: the whole output is in {path}"]
        return results(self.report), words + self.guard.words


def main(options):
    swift, pattern = build.SWIFT, os.environ.get("FILTER")
    surroundings = {WIDTH: "8", **build.environment(), "NO_COLOR": "1"}
    del surroundings["SWIFT_DETERMINISTIC_HASHING"]
    plain = {name: value for name, value in surroundings.items() if name != "HANDSTAMP_OPTIMIZED"}
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        if not options.built:
            if not pattern:
                # First, because each build leaves the modules of this package with its own traits.
                build.build("build-forum", *FORUM, "--build-tests", is_optimized=False, words="Examples/ForumReader")
            build.build("build", *build.ALL, *build.ANEW, "--build-tests")
        if options.build:
            return 0
        if not pattern:
            runs.append(Run("test-forum", [swift, "test", *FORUM, "--skip-build"], folder + "/forum.xml"))
            runs[-1].watch(plain)
        test = [swift, "test", *build.ALL, "--skip-build"]
        tests = build.place(*build.ALL) + "/handstampPackageTests.xctest"
        listed = subprocess.run([*test[:2], "list", *test[2:]], env=surroundings, stdout=subprocess.PIPE, text=True).stdout
        if pattern:
            # SwiftPM succeeds if no test matches.
            if not re.search(pattern, listed):
                sys.exit(f"no test matches {pattern}")
            runs.append(Run("test", [*test, "--filter", pattern], folder + "/some.xml"))
            runs[-1].watch(surroundings)
        elif not os.path.isfile(tests):
            # On macOS it is a folder, which only `swift test` can run.
            runs.append(Run("test", test, folder + "/all.xml"))
            runs[-1].watch(surroundings)
        else:
            # A second `swift test` would wait for the first one. A pattern that skips a suite skips those in it, whatever they are called.
            own = [tests, "--testing-library", "swift-testing", "--filter"]
            command = [Run("test-command", [*own, COMMAND, "--skip", HALF], folder + "/command.xml"), Run("test-half", [*own, HALF], folder + "/half.xml")]
            runs += [*command, Run("test", [*test, "--skip", COMMAND], folder + "/others.xml")]
            try:
                for run in command:
                    run.begin(surroundings)
                runs[-1].watch(surroundings)
                for run in command:
                    run.status = run.process.wait()
            finally:
                for run in command:
                    if run.process and run.process.poll() is None:
                        run.process.terminate()
        ended = [run.end() for run in runs]
        found = [result for each, _ in ended for result in each]
    print("\n".join(summary(found)))
    for result in sorted(found, key=lambda result: -result.seconds)[:options.slowest]:
        print(f"{result.seconds:8.1f} s  {result.target}: {result.name}")
    for result in found:
        if result.outcome == "failed":
            print(f"✘ {result.target}: {result.name}")
    # The patterns that share the tests out have to leave none out.
    lost = 0 if pattern else len(listed.splitlines()) - sum(len(each) for run, (each, _) in zip(runs, ended) if run.log != "test-forum")
    ended += [([], [f"{lost} tests of swift test list are in no report"])] if lost else []
    print("\n".join(line for _, words in ended for line in words), end="\n" if any(words for _, words in ended) else "")
    return 1 if any(words for _, words in ended) else 0
