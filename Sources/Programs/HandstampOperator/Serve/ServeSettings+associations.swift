#if Operator
import HandstampCommandLine
import HandstampCore
import HandstampServer
import HandstampSupport

extension ServeSettings {
  /// Fetches the files that name apps, from where the systems of Apple and Google do. Returns warnings, each with a hint.
  func missingAssociations(
    _ transport: any Transport
  ) async -> [(warning: String, hint: String)] {
    let wanted: [AppAssociation.System: Set<String>] = [
      .apple: Set(configuration.appleApps.map(\.id)),
      .android: Set(configuration.androidApps.map { "\($0.package)=\($0.fingerprint)" }),
    ]
    var origins = [Origin(issuer)].compactMap { $0 }
    if case .domain(let domain) = configuration.passkeys, let own = origins.first, own.host != domain {
      origins.append(Origin(scheme: "https", host: domain, port: 443))
    }
    var warnings: [(warning: String, hint: String)] = []
    for system in AppAssociation.System.allCases {
      guard let apps = wanted[system], !apps.isEmpty else { continue }
      for origin in origins {
        let file = AppAssociation(system: system, origin: origin)
        let words: String
        switch await file.outcome(transport) {
        case .apps(let named) where apps.isSubset(of: named): continue
        case .apps(let named): words = "does not name \(apps.subtracting(named).sorted().joined(separator: ", "))"
        case .absent: words = "is missing"
        case .refused(let reason): words = reason
        }
        let name = host.contains(":") ? "[\(host)]" : host
        warnings.append(
          (
            "\(file.address) \(words)",
            "start the server with these settings, and let the proxy of \(origin.host) pass that path on, in nginx: "
              + "location = \(file.path) { proxy_pass http://\(name):\(port); }"
          ))
      }
    }
    return warnings
  }
}
#endif
