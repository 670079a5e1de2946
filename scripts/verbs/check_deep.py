"""ThreadSanitizer, the build of `make run`, each trait alone, 40 processes under SIGKILL, every damaged home, long explorations and simulations, the
release build, two storms, a short soak, the package, all attacks, all programs of others, all languages. Stops at the first that fails; --from goes on there."""
import subprocess, sys

from kit import build

NEEDS, LEAN = ["--tests"], ["--traits", "Operator,Exploration,Strict", "--scratch-path", ".build/lean", *build.QUICK]
SANITIZED = "HandstampTests|HandstampCoreTests|HandstampVaultsTests"
LONG = "fifty expiries|on its way into the vault|is fixed by the command|Ten thousand sessions|GuideMovesTests|A process that moves the key|A move of the key"
VERBS = ["plain", "apple", "outside --deep", "build --release", "bench --storm 2000", "bench --storm 2000 --strict", "memory --soak 3", "instructions --release",
         "instructions --webhooks", "explore", "diagram --check", "pictures --check", "schemathesis", "dist-check",
         "container --deep", "attack", "openid --deep", "pages --deep", "cluster", "simulate --seeds {seeds}"]


def options(parser):
    parser.add_argument("--seeds", default="200000", help="of the simulation")
    parser.add_argument("--from", dest="begin", metavar="VERB", help="leaves out what comes before")


def test(*words, is_optimized=True, parts=build.ALL, **surroundings):
    return subprocess.run([build.SWIFT, "test", *parts, *words, *build.headers(words)], env={**build.environment(is_optimized), **surroundings}).returncode


def main(options):
    verbs = [verb.format(seeds=options.seeds) for verb in VERBS]
    if options.begin:
        begin = [verb.split()[0] for verb in verbs]
        if options.begin not in begin:
            sys.exit(f"check-deep: no verb {options.begin}\nhint: one of {' '.join(begin)}")
        verbs = verbs[begin.index(options.begin):]
    elif test("-debug-info-format", "dwarf", "--sanitize=thread", "--scratch-path", ".build/tsan", "--filter", SANITIZED, is_optimized=False,
              TSAN_OPTIONS="suppressions=scripts/tsan-suppressions") or test("--filter", LONG, HANDSTAMP_DEEP="1") or test("--filter", "A part that a build lacks", parts=LEAN):
        return 1
    for verb in verbs:
        print(f"\n== {verb}", flush=True)
        if subprocess.run([sys.executable, "scripts/dev", *verb.split()]).returncode:
            print(f"{verb} failed\nhint: scripts/dev check-deep --from {verb.split()[0]}", file=sys.stderr)
            return 1
