#if Exploration
import HandstampCore
import HandstampExploration

/// Explores client and server together, and prints the findings.
///
/// Arguments select the scenarios whose names contain one of them. `--small` uses the limits of the tests. `--transitions` and
/// `--graph` print what the machines did instead, as a table and in the DOT language.
@main
struct Explorer {
  static func main() async {
    let clock = ContinuousClock()
    var failed = false
    let words = CommandLine.arguments.dropFirst()
    let bound = words.firstIndex(of: "--bound").flatMap { Int(CommandLine.arguments[$0 + 1]) } ?? 3_000_000
    if words.contains("--transitions") || words.contains("--graph") {
      let log = TransitionLog.explored(seeds: words.last.flatMap { UInt64($0) } ?? 1000)
      print(words.contains("--graph") ? log.graph : log.table)
      return
    }
    let isSmall = CommandLine.arguments.contains("--small")
    let chosen = words.filter { !$0.hasPrefix("--") && Int($0) == nil }
    for scenario in Scenario.all.map({ isSmall ? $0.small : $0 })
    where chosen.isEmpty || chosen.contains(where: scenario.name.contains) {
      let start = clock.now
      let found = scenario.explored(bound: bound)
      let seconds = (clock.now - start) / .seconds(1)
      let kept = scenario.isKept(found)
      failed = failed || !kept
      print(
        kept ? "ok  " : "FAIL", scenario.name, "·", scenario.expectation.rawValue, "· \(found.states) states in",
        "\(Double(Int(seconds * 100)) / 100) s")
      if !kept || scenario.expectation == .loses {
        for finding in found.findings { print("     \(finding.verdict): \(finding.path)") }
      }
      showWhatWasPrinted()
    }
    for client in SignInExploration.Client.allCases {
      let name = "sign-in: \(client.rawValue)"
      guard chosen.isEmpty || chosen.contains(where: name.contains) else { continue }
      let start = clock.now
      guard let found = try? await SignInExploration(client, depth: isSmall ? 7 : 10) else { continue }
      failed = failed || !found.findings.isEmpty
      print(
        found.findings.isEmpty ? "ok  " : "FAIL", name, "· \(found.states) states in", start.duration(to: clock.now))
      for finding in found.findings { print("     \(finding)") }
    }
    print(failed ? "some promises are broken" : "every promise holds, and every planted fault is found")
    if failed { exitProcess(1) }
  }
}
#else
@main struct Explorer {
  static func main() { print("built without the trait Exploration: add --traits Exploration") }
}
#endif
