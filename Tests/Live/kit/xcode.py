"""Reads the Xcode project of Examples/AppShell and the workflow for Apple's systems where there is no Xcode: what they name has to exist."""
import glob, json, os, plistlib, re, subprocess
import xml.etree.ElementTree as xml

from kit import build, platforms

PROJECT, WORKFLOW = "Examples/AppShell/AppShell.xcodeproj", ".github/workflows/apple.yml"
# As Xcode names systems in destinations, in SUPPORTED_PLATFORMS and in settings.
SIMULATORS = {"iOS": "iphonesimulator", "tvOS": "appletvsimulator", "watchOS": "watchsimulator", "visionOS": "xrsimulator"}
DEPLOYMENT = {"ios": "IPHONEOS", "tvos": "TVOS", "watchos": "WATCHOS", "xros": "XROS"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Project:
    def __init__(self, path):
        """Raises `ValueError` if it is no property list."""
        # The toolchain has a reader of them beside the compiler.
        tool = os.path.join(os.path.dirname(build.SWIFT), "plutil")
        found = json.loads(subprocess.run([tool, "-convert", "json", "-o", "-", path + "/project.pbxproj"], stdout=subprocess.PIPE).stdout)
        self.folder, self.objects, self.root = os.path.dirname(path), found["objects"], found["rootObject"]
        # Of two with one key it takes the last.
        self.text = read(path + "/project.pbxproj")

    def all(self, isa):
        return [each for each in self.objects.values() if each["isa"] == isa]

    def settings(self, owner):
        """The build settings of a target or the project, of each configuration."""
        return [self.objects[each]["buildSettings"] for each in self.objects[owner["buildConfigurationList"]]["buildConfigurations"]]

    def places(self, group, above):
        """Files and folders by their objects."""
        for key in group["children"]:
            each = self.objects[key]
            path = os.path.join(above, each.get("path", ""))
            if each["isa"] == "PBXGroup":
                yield from self.places(each, path)
            elif each["sourceTree"] == "<group>":
                yield key, path

    def problems(self):
        root, products = self.objects[self.root], build.libraries()
        for word in set(re.findall(r'"([0-9A-F]{24})"', json.dumps(self.objects))) - set(self.objects):
            yield f"names no object: {word}"
        if len(re.findall(r"(?m)^\t\t[0-9A-F]{24}\b.* = \{", self.text)) != len(self.objects):
            yield "two objects have one key"
        places = dict(self.places(self.objects[root["mainGroup"]], self.folder))
        yield from (f"names no file: {path}" for path in places.values() if not os.path.exists(path))
        for each in self.all("XCSwiftPackageProductDependency"):
            if each["productName"] not in products:
                yield f"names no product: {each['productName']}"
        for each in self.all("XCLocalSwiftPackageReference"):
            if not os.path.exists(os.path.join(self.folder, each["relativePath"], "Package.swift")):
                yield f"names no package: {each['relativePath']}"
        for key, setting in DEPLOYMENT.items():
            if {settings.get(setting + "_DEPLOYMENT_TARGET") for settings in self.settings(root)} != {platforms.RELEASES[key]}:
                yield f"{setting}_DEPLOYMENT_TARGET is not {platforms.RELEASES[key]}"
        for target in self.all("PBXNativeTarget"):
            yield from (f"{target['name']}: {each}" for each in self.target_problems(target, places))

    def target_problems(self, target, places):
        folders = [places[key] for key in target["fileSystemSynchronizedGroups"]]
        code = "\n".join(read(path) for folder in folders for path in glob.glob(folder + "/**/*.swift", recursive=True))
        if not code:
            yield "no code"
        linked = {self.objects[key]["productName"] for key in target["packageProductDependencies"]}
        for module in set(re.findall(r"^import (Handstamp\w*)", code, re.M)) - linked:
            yield f"imports {module} and does not link it"
        files = {settings[name] for settings in self.settings(target) for name in ("INFOPLIST_FILE", "CODE_SIGN_ENTITLEMENTS") if name in settings}
        for path in files:
            yield from (f"{path}: {each}" for each in named_in(plistlib.loads(read(f"{self.folder}/{path}").encode()), code))


def named_in(values, code):
    """What a property list of a program names that its code does not have."""
    name = re.search(r'static let name = "([\w.]+)"', code)
    for key, prefix in {"keychain-access-groups": "$(AppIdentifierPrefix)", "com.apple.security.application-groups": "group."}.items():
        yield from (f"{group} is not {prefix}{name[1]}" for group in values.get(key, []) if name and group != prefix + name[1])
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
    tests = [target for target in project.all("PBXNativeTarget") if target["productType"].endswith("unit-test")]
    supported = {word for target in tests for settings in project.settings(target) for word in settings["SUPPORTED_PLATFORMS"].split()}
    for kind, pattern, known in (
        ("project", r"-project (\S+)", [PROJECT]), ("scheme", r"-scheme (\S+)", dict(schemes(PROJECT))),
        ("system of a test", r"platform=(\w+) Simulator", [system for system, name in SIMULATORS.items() if name in supported]),
        ("tests", r"-only-testing:(\w+)", [target["name"] for target in tests]),
    ):
        yield from (f"names no {kind}: {word}" for word in re.findall(pattern, text) if word not in known)


def problems():
    try:
        project = Project(PROJECT)
        yield from (f"{PROJECT}: {each}" for each in project.problems())
        for name, targets in schemes(PROJECT):
            yield from (f"{PROJECT}: {name}: no target {target}" for key, target in targets if project.objects.get(key, {}).get("name") != target)
        yield from (f"{WORKFLOW}: {each}" for each in workflow_problems(read(WORKFLOW), project))
    except (ValueError, KeyError, OSError) as error:
        yield f"{PROJECT}: {error!r}"
