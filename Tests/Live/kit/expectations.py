"""Finds the tests in which nothing can fail: without an expectation, of their own or in a function that they call.

Calls are followed by name, within the file if it has a function of that name, otherwise within the target. Where several functions
share a name, each needs an expectation. The conformance suites of HandstampTesting (`public func check…`) and the steps of the
command's tour throw what they find, and count as well. `swift format` decides where a function ends: at a brace as far to the right
as its beginning.
"""
import collections, functools, glob, pathlib, re

CALL = re.compile(r"(\w+)(?:<[\w, .]+>)?\s*[({]")
# Comments and strings, whose words do not count.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|(#*)""".*?"""\1|#"[^\n]*?"#|"(?:\\\([^\n]*?\)|\\.|[^"\\\n])*"', re.S)

Function = collections.namedtuple("Function", "path line name test private body")


def functions(folder):
    for path in sorted(glob.glob(folder + "/**/*.swift", recursive=True)):
        text = NOISE.sub(lambda m: "\n" * m.group().count("\n") + '""', pathlib.Path(path).read_text())
        end, tests = 0, [m.start() for m in re.finditer(r"@Test\b", text)]
        for found in re.finditer(r"(?m)^( *).*?(private\s+(?:\w+\s+)*)?\bfunc\s+(`[^`\n]+`|\w+|[^\s\w(`]+)(.*)", text):
            test = any(end <= at < found.end(3) for at in tests)
            end = found.end(3)
            rest = re.compile(rf"^{found[1]}\}}", re.M).search(text, found.end())
            body = found[4] if found[4].rstrip(' "').endswith("}") else text[found.start(4):rest.end()] if rest else ""
            yield Function(path, text.count("\n", 0, end) + 1, found[3].strip("`"), test, bool(found[2]), body)


def declared(pattern, folder):
    texts = (open(path, encoding="utf-8").read() for path in glob.glob(folder + "/**/*.swift", recursive=True))
    return "|".join(sorted({name for text in texts for name in re.findall(pattern, text)}))


@functools.cache
def expectation():
    suites = "|".join(
        declared(r"(?:public|package) func (check\w*)", folder) for folder in ("Sources/Client/HandstampTesting", "Tests/Together/HandstampExploration"))
    steps = declared(r"static func (\w+)\(_ stage: TourFixture\) async throws -> String", "Programs/HandstampTour")
    return re.compile(
        rf"#(?:expect|require)\b|\bIssue\.record\b|\bconfirmation\s*[({{]|\b(?:{suites})\s*[({{]|\bStep\.(?:{steps})\(")


class Target:
    """The functions of a test target; which of them contain an expectation, followed through their calls."""

    def __init__(self, folder):
        self.functions, self.named = list(functions(folder)), collections.defaultdict(list)
        for function in self.functions:
            if not function.test:
                self.named[function.name].append(function)
        self.checking, before = set(), None
        while before != len(self.checking):
            before = len(self.checking)
            self.checking |= {f for named in self.named.values() for f in named if self.expects(f)}

    def expects(self, function):
        return bool(expectation().search(function.body)) or any(
            self.all_expect(self.named.get(name, []), function.path) for name in set(CALL.findall(function.body)))

    def all_expect(self, named, path):
        named = [f for f in named if f.path == path] or [f for f in named if not f.private]
        return bool(named) and all(f in self.checking for f in named)


def missing():
    count = 0
    for folder in sorted(glob.glob("Tests/*/*") + glob.glob("Examples/*/Tests/*")):
        target = Target(folder)
        for function in target.functions:
            count += function.test
            if function.test and not target.expects(function):
                yield f"{function.path}:{function.line}: {function.name}"
    if not count:
        yield "no test found"
