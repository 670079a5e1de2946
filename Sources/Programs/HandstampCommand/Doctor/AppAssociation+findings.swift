#if Command
import HandstampCommandLine
import HandstampCore
import HandstampSupport

extension AppAssociation {
  /// Returns the findings of `doctor` about a server: the apps that it names. A file that names none, or none that is accepted, is a
  /// matter for its operator, if an app is meant to be there at all.
  static func findings(at server: ServerAddress, over transport: any Transport) async -> [Finding] {
    guard let origin = Origin(server.text) else { return [] }
    var findings: [Finding] = []
    for system in System.allCases {
      let outcome = await AppAssociation(system: system, origin: origin).outcome(transport)
      guard case .apps(let apps) = outcome, !apps.isEmpty else { continue }
      let words = "\(origin.text) names \(apps.sorted().map(plain).joined(separator: ", "))"
      findings.append(.ok("\(system.rawValue)_apps", words))
    }
    return findings
  }
}
#endif
