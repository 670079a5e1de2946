"""Reads the Xcode project of Examples/AppShell and the workflow for Apple's systems where there is no Xcode: what they name has to exist.

A project file is a property list in the old format: dictionaries in braces, arrays in parentheses, and strings."""
import glob, os, plistlib, re
import xml.etree.ElementTree as xml

from kit import platforms

EXAMPLE, WORKFLOW = "Examples/AppShell", ".github/workflows/apple.yml"
PROJECT = EXAMPLE + "/AppShell.xcodeproj"
TOKEN = re.compile(r'\s+|//[^\n]*|/\*.*?\*/|([{}()=;,])|"((?:[^"\\]|\\.)*)"|([A-Za-z0-9_$/.:-]+)', re.S)
# As Xcode names systems in destinations, in SUPPORTED_PLATFORMS and in settings.
SIMULATORS = {"iOS": "iphonesimulator", "tvOS": "appletvsimulator", "watchOS": "watchsimulator", "visionOS": "xrsimulator"}
DEPLOYMENT = {"ios": "IPHONEOS", "tvos": "TVOS", "watchos": "WATCHOS", "xros": "XROS"}


def parse(text):
    """The value of a property list. Raises `ValueError` if there is no such value."""
    tokens, at = [], 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            raise ValueError(f"line {text.count(chr(10), 0, at) + 1}: not a property list")
        at = found.end()
        if found.lastindex:
            tokens.append((found[1], re.sub(r"\\(.)", r"\1", found[2]) if found[2] is not None else found[3], text.count("\n", 0, at) + 1))
    tokens.append(("the end", None, text.count("\n") + 1))
    tokens.reverse()

    def take(sign=None):
        mark, word, line = tokens[-1]
        if mark != sign:
            raise ValueError(f"line {line}: {mark or word} instead of {sign or 'a string'}")
        tokens.pop()
        return word

    def value():
        mark = tokens[-1][0]
        if mark == "{":
            take("{")
            found = {}
            while tokens[-1][0] != "}":
                key = take()
                take("=")
                if key in found:
                    raise ValueError(f"{key} is there twice")
                found[key] = value()
                take(";")
            take("}")
            return found
        if mark == "(":
            take("(")
            found = []
            while tokens[-1][0] != ")":
                found.append(value())
                if tokens[-1][0] != ")":
                    take(",")
            take(")")
            return found
        return take()

    found = value()
    if len(tokens) != 1:
        raise ValueError(f"line {tokens[-1][2]}: more than one value")
    return found


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def strings(value):
    """All strings of a property list, those of dictionaries without their keys."""
    if isinstance(value, str):
        yield value
    else:
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


class Project:
    def __init__(self, path):
        found = parse(read(path + "/project.pbxproj"))
        self.folder, self.objects, self.root = os.path.dirname(path), found["objects"], found["rootObject"]

    def all(self, isa):
        return {key: each for key, each in self.objects.items() if each["isa"] == isa}

    def settings(self, owner):
        """The build settings of a target or the project, of each configuration."""
        return [self.objects[each]["buildSettings"] for each in self.objects[owner["buildConfigurationList"]]["buildConfigurations"]]

    def places(self):
        """Files and folders by their objects."""
        found, left = {}, [(self.objects[self.root]["mainGroup"], self.folder)]
        while left:
            key, above = left.pop()
            each = self.objects[key]
            path = os.path.join(above, each["path"]) if each.get("sourceTree") == "<group>" and "path" in each else above
            if each["isa"] == "PBXGroup":
                left += [(child, path) for child in each["children"]]
            elif each.get("sourceTree") == "<group>":
                found[key] = path
        return found

    def problems(self):
        for word in strings(self.objects):
            if re.fullmatch(r"[0-9A-F]{24}", word) and word not in self.objects:
                yield f"names no object: {word}"
        places, products = self.places(), re.findall(r'\.library\(name: "(\w+)"', read("Package.swift"))
        for path in places.values():
            if not os.path.exists(path):
                yield f"names no file: {path}"
        for each in self.all("XCSwiftPackageProductDependency").values():
            if each["productName"] not in products:
                yield f"names no product: {each['productName']}"
        for each in self.all("XCLocalSwiftPackageReference").values():
            if not os.path.exists(os.path.join(self.folder, each["relativePath"], "Package.swift")):
                yield f"names no package: {each['relativePath']}"
        for key, setting in DEPLOYMENT.items():
            for settings in self.settings(self.objects[self.root]):
                if settings.get(setting + "_DEPLOYMENT_TARGET") != platforms.RELEASES[key]:
                    yield f"{setting}_DEPLOYMENT_TARGET is not {platforms.RELEASES[key]}"
        for target in self.all("PBXNativeTarget").values():
            yield from (f"{target['name']}: {each}" for each in self.target_problems(target, places))

    def target_problems(self, target, places):
        folders = [places[key] for key in target["fileSystemSynchronizedGroups"]]
        code = "\n".join(read(path) for folder in folders for path in glob.glob(folder + "/**/*.swift", recursive=True))
        if not code:
            yield "no code"
        linked = {self.objects[key]["productName"] for key in target["packageProductDependencies"]}
        for module in set(re.findall(r"^import (Handstamp\w*)", code, re.M)) - linked:
            yield f"imports {module} and does not link it"
        for settings in self.settings(target):
            for name in ("INFOPLIST_FILE", "CODE_SIGN_ENTITLEMENTS"):
                if name in settings:
                    with open(f"{self.folder}/{settings[name]}", "rb") as file:
                        yield from (f"{settings[name]}: {each}" for each in named_in(plistlib.load(file), code))


def named_in(values, code):
    """What a property list of a program names that its code does not have."""
    name = re.search(r'static let name = "([\w.]+)"', code)
    groups = [(group, "$(AppIdentifierPrefix)") for group in values.get("keychain-access-groups", [])]
    groups += [(group, "group.") for group in values.get("com.apple.security.application-groups", [])]
    for group, prefix in groups if name else []:
        if group != prefix + name[1]:
            yield f"{group} is not {prefix}{name[1]}"
    words = values.get("BGTaskSchedulerPermittedIdentifiers", [])
    yield from (f"{each} is not in the code" for each in words if f'"{each}"' not in code)
    principal = values.get("NSExtension", {}).get("NSExtensionPrincipalClass", "").split(".")[-1]
    if principal and f"class {principal}:" not in code:
        yield f"there is no class {principal}"


def schemes(project):
    """The shared schemes, each with the targets that it names: identifier and name."""
    for path in sorted(glob.glob(project + "/xcshareddata/xcschemes/*.xcscheme")):
        yield os.path.basename(path)[:-9], [(each.get("BlueprintIdentifier"), each.get("BlueprintName")) for each in xml.parse(path).iter("BuildableReference")]


def workflow_problems(text, project):
    """Paths, schemes and destinations that a workflow gives to xcodebuild."""
    known = dict(schemes(PROJECT))
    for path in re.findall(r"-project (\S+)", text):
        if path != PROJECT:
            yield f"names no project: {path}"
    for scheme in re.findall(r"-scheme (\S+)", text):
        if scheme not in known:
            yield f"names no scheme: {scheme}"
    supported = {word for target in project.all("PBXNativeTarget").values() if target["productType"].endswith("unit-test") for settings in project.settings(target)
                 for word in settings["SUPPORTED_PLATFORMS"].split()}
    for system in re.findall(r"platform=(\w+) Simulator", text):
        if SIMULATORS.get(system) not in supported:
            yield f"no test runs on {system}"
    tests = {target["name"] for target in project.all("PBXNativeTarget").values()}
    for name in re.findall(r"-only-testing:(\w+)", text):
        if name not in tests:
            yield f"names no tests: {name}"


def problems():
    try:
        project = Project(PROJECT)
        yield from (f"{PROJECT}: {each}" for each in project.problems())
        for name, targets in schemes(PROJECT):
            yield from (f"{PROJECT}: {name}: no target {target}" for key, target in targets if project.objects.get(key, {}).get("name") != target)
        yield from (f"{WORKFLOW}: {each}" for each in workflow_problems(read(WORKFLOW), project))
    except (ValueError, KeyError, OSError) as error:
        yield f"{PROJECT}: {error!r}"
