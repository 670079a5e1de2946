#if Command
import HandstampCore
import HandstampServer
import HandstampSupport

/// A file at the root of a host that names apps, as the servers of Apple or Google fetch it.
struct AppAssociation: Sendable {
  enum System: String, Sendable, CaseIterable {
    case apple, android
  }

  /// The contents of the file, or why those servers do not accept it.
  enum Outcome: Sendable, Hashable {
    case absent
    /// The apps, as `--apple-apps` and `--android-apps` write them.
    case apps(Set<String>)
    /// Completes a sentence that begins with the address.
    case refused(String)
  }

  let system: System
  /// Such as `https://id.example.org`.
  let origin: Origin

  var path: String {
    switch system {
    case .apple: AppAssociations.applePath
    case .android: AppAssociations.androidPath
    }
  }
  var address: String { origin.text + path }

  func outcome(_ transport: any Transport) async -> Outcome {
    guard origin.isTrustworthy else { return .refused("is without TLS") }
    let response: TransportResponse
    do throws(TransportError) {
      response = try await transport.send(
        TransportRequest(
          method: "GET", url: address, timeout: .seconds(5), maximumResponseSize: AppAssociations.longest))
    } catch {
      return .refused(error == .tooLarge ? "is longer than 128 KiB" : "was not fetched: \(plain("\(error)"))")
    }
    switch response.status {
    case 200: break
    case 404, 410: return .absent
    case 300..<400:
      return .refused("redirects to \(plain(response.header("Location") ?? "nowhere")), which is not followed")
    default: return .refused("answers with status \(response.status)")
    }
    let type = response.header("Content-Type") ?? ""
    guard !response.isPage else { return .refused("is a page for people") }
    guard type.prefix(while: { $0 != ";" }).lowercased() == "application/json" else {
      return .refused("has the content type \"\(plain(type))\" instead of application/json")
    }
    guard let apps = JSONValue(response.body).flatMap(apps(in:)) else {
      return .refused("is not a file of this kind")
    }
    return .apps(apps)
  }

  private func apps(in document: JSONValue) -> Set<String>? {
    switch system {
    case .apple:
      guard case .object = document else { return nil }
      return Set((document["webcredentials"]?["apps"]?.array ?? []).compactMap(\.string))
    case .android:
      guard let statements = document.array else { return nil }
      return Set(
        statements.flatMap { statement -> [String] in
          let (relations, target) = (statement["relation"]?.array ?? [], statement["target"])
          guard relations.contains(.string("delegate_permission/common.get_login_creds")),
            let package = target?["package_name"]?.string
          else { return [] }
          let prints = target?["sha256_cert_fingerprints"]?.array ?? []
          return prints.compactMap { $0.string.map { "\(package)=\($0.uppercased())" } }
        })
    }
  }
}

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
