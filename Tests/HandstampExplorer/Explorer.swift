import HandstampCore
import HandstampTesting

/// Explores client and server together, and prints what was found.
///
/// `--small` keeps the explorations within the limits of the tests.
@main
struct Explorer {
  static func main() {
    let clock = ContinuousClock()
    var failed = false
    let isSmall = CommandLine.arguments.contains("--small")
    for scenario in Scenario.all.map({ isSmall ? $0.small : $0 }) {
      let start = clock.now
      let found = Exploration(scenario.world)
      let seconds = (clock.now - start) / .seconds(1)
      let kept = scenario.isKept(found)
      failed = failed || !kept
      print(
        kept ? "ok  " : "FAIL", scenario.name, "·", scenario.expectation.rawValue, "· \(found.states) states in",
        "\(Double(Int(seconds * 100)) / 100) s")
      if !kept { for finding in found.findings { print("     \(finding.verdict): \(finding.path)") } }
    }
    print(failed ? "some promises are broken" : "every promise holds, and every planted fault is found")
    if failed { exitProcess(1) }
  }
}
