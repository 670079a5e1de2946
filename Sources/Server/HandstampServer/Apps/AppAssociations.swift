#if Server
import HandstampSupport

/// The documents in which the server's host names the operator's apps. The systems of Apple and Google read them before they let an
/// app use passkeys and passwords of the host, and open its links.
package struct AppAssociations: Sendable {
  /// `nil` if no app is configured.
  let apple: FixedDocument?
  let android: FixedDocument?
  /// The paths to which web sign-in returns and that an app opens, if it is installed.
  let callbacks: Set<String>

  /// - Parameter paths: those of the OpenAPI document, below its mount path.
  init(_ configuration: ServerConfiguration, routes paths: Set<String>) throws(ServerConfigurationError) {
    callbacks = AppAssociations.callbacks(of: configuration, routes: paths)
    let apple = AppAssociations.apple(configuration.appleApps, callbacks: callbacks.sorted())
    guard apple.count <= AssociationFile.longest else { throw .appleApps }
    self.apple = configuration.appleApps.isEmpty ? nil : FixedDocument(apple, cacheControl: "public, max-age=3600")
    android =
      configuration.androidApps.isEmpty
      ? nil
      : FixedDocument(AppAssociations.android(configuration.androidApps), cacheControl: "public, max-age=3600")
  }

  /// Writes the association file of Apple's _Supporting associated domains_.
  private static func apple(_ apps: [AppleApp], callbacks: [String]) -> [UInt8] {
    var credentials = JSONText()
    credentials.add("apps", apps.map(\.id))
    var document = JSONText()
    document.add("webcredentials", credentials)
    if !callbacks.isEmpty {
      var details = JSONText()
      details.add("appIDs", apps.map(\.id))
      details.add("components", callbacks.map { JSONText([("/", $0)]) })
      var links = JSONText()
      links.add("details", [details])
      document.add("applinks", links)
    }
    return document.finished
  }

  /// Writes the statement list of Digital Asset Links. Passkeys need both relations; the app's manifest says which links it opens.
  private static func android(_ apps: [AndroidApp]) -> [UInt8] {
    let certificates = Dictionary(grouping: apps, by: \.package)
    let statements = certificates.sorted { $0.key < $1.key }.map { package, apps in
      var target = JSONText()
      target.add("namespace", "android_app")
      target.add("package_name", package)
      target.add("sha256_cert_fingerprints", apps.map(\.fingerprint))
      var statement = JSONText()
      statement.add(
        "relation", ["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"])
      statement.add("target", target)
      return statement.text
    }
    return Array("[\(statements.joined(separator: ","))]".utf8)
  }

  /// Only those of public clients without pages of their own: a link to a web application is not for an app.
  private static func callbacks(of configuration: ServerConfiguration, routes paths: Set<String>) -> Set<String> {
    let clients = configuration.clients.filter { !$0.isConfidential && $0.webOrigins.isEmpty }
    return Set(
      clients.flatMap { $0.redirectURIs + $0.postLogoutRedirectURIs }.compactMap { uri in
        guard uri.hasPrefix(configuration.issuer + "/"), let path = WebURL(uri)?.path else { return nil }
        let own = path.dropFirst(configuration.mountPath.count)
        // `*` and `?` would be patterns to Apple's systems.
        let isPlain = path.utf8.allSatisfy { $0.isUnreserved || $0 == UInt8(ascii: "/") }
        return isPlain && own.count > 1 && !paths.contains(String(own)) ? path : nil
      })
  }
}
#endif
