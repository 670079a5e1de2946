"""Fuzzes the forum reader's scrapers with libFuzzer and AddressSanitizer. Findings are saved beside the seeds."""
import glob, os, subprocess, tempfile

from kit import build

FORUM = "Examples/ForumReader"


def options(parser):
    parser.add_argument("seconds", nargs="?", default="60")


def main(options):
    flags = subprocess.run(["pkg-config", "--cflags-only-I", "libxml-2.0"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    includes = [word for flag in flags for word in ("-Xcc", flag)]
    compile = [build.SWIFTC, "-swift-version", "6", "-O", "-g", "-parse-as-library"]
    with tempfile.TemporaryDirectory() as work:
        # The scrapers, and the only file of the package that they use.
        subprocess.run([*compile, "-emit-module", "-emit-module-path", work + "/HandstampCookies.swiftmodule", "-module-name", "HandstampCookies",
                        "-emit-object", "-o", work + "/charset.o", "Sources/Client/HandstampCookies/Forms/Windows1252.swift"], check=True)
        subprocess.run([*compile, "-sanitize=fuzzer,address", "-module-name", "Fuzz", "-I", work, "-I", FORUM + "/Sources/CHTML", *includes,
                        *sorted(glob.glob(FORUM + "/Sources/ForumReader/Pages/*.swift")), FORUM + "/Tests/Fuzz/Fuzz.swift", work + "/charset.o", "-lxml2",
                        "-o", work + "/fuzz"], check=True)
        os.mkdir(work + "/found")
        return subprocess.run(
            [work + "/fuzz", work + "/found", FORUM + "/Tests/Fuzz/seeds", f"-max_total_time={options.seconds}", "-timeout=10", "-rss_limit_mb=4096",
             "-max_len=20000", "-print_final_stats=1", f"-artifact_prefix={FORUM}/Tests/Fuzz/seeds/found-"],
            env=dict(os.environ, SWIFT_BACKTRACE="enable=no", ASAN_OPTIONS="detect_leaks=0")).returncode
