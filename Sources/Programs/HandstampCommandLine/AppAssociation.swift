#if Command
package import HandstampCore
package import HandstampSupport

/// A file at the root of a host that names apps, as the servers of Apple or Google fetch it.
package struct AppAssociation: Sendable {
  package enum System: String, Sendable, CaseIterable {
    case apple, android
  }

  /// The contents of the file, or why those servers do not accept it.
  package enum Outcome: Sendable, Hashable {
    case absent
    /// The apps, as `--apple-apps` and `--android-apps` write them.
    case apps(Set<String>)
    /// Completes a sentence that begins with the address.
    case refused(String)
  }

  package let system: System
  /// Such as `https://id.example.org`.
  package let origin: Origin

  package init(system: System, origin: Origin) { (self.system, self.origin) = (system, origin) }

  package var path: String {
    switch system {
    case .apple: AssociationFile.applePath
    case .android: AssociationFile.androidPath
    }
  }
  package var address: String { origin.text + path }

  package func outcome(_ transport: any Transport) async -> Outcome {
    guard origin.isTrustworthy else { return .refused("is without TLS") }
    let response: TransportResponse
    do throws(TransportError) {
      response = try await transport.send(
        TransportRequest(
          method: "GET", url: address, timeout: .seconds(5), maximumResponseSize: AssociationFile.longest))
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
#endif
