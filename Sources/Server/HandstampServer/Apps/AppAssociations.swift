#if Server
import HandstampSupport

/// An app of the operator on Apple's systems, by its App ID: the App ID prefix, mostly the team ID, and the bundle ID.
public struct AppleApp: Sendable, Hashable {
  /// Such as `ABCDE12345.org.example.forum`.
  public let id: String

  /// `nil` if the text is not an App ID.
  public init?(_ id: String) {
    let parts = id.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count > 1, parts[0].count == 10,
      parts[0].allSatisfy({ $0.isDigit || $0.isLetter && !$0.isLowercaseLetter }),
      parts.dropFirst().allSatisfy({ part in
        !part.isEmpty && part.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") }
      })
    else { return nil }
    self.id = id
  }
}

/// An app of the operator on Android: its package, and a certificate that signs it. An app with several certificates is several of
/// these, such as one that Google Play signs and its developers sign as well.
public struct AndroidApp: Sendable, Hashable {
  /// Such as `org.example.forum`.
  public let package: String
  /// The SHA-256 of the certificate.
  let certificate: [UInt8]

  /// Parses `org.example.forum=14:6D:E9:…`, with the fingerprint as `keytool -list -v` prints it; `nil` for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].utf8.count(where: { $0 == UInt8(ascii: ":") }) == 31,
      let certificate = Hexadecimal.bytes(parts[1].utf8.filter { $0 != UInt8(ascii: ":") }), certificate.count == 32
    else { return nil }
    let names = parts[0].utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard names.count > 1,
      names.allSatisfy({ name in
        name.first?.isLetter == true && name.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") }
      })
    else { return nil }
    (package, self.certificate) = (String(parts[0]), certificate)
  }

  /// As documents write it: two capital digits per byte, separated by colons.
  package var fingerprint: String {
    certificate.map { Hexadecimal.text([$0]).uppercased() }.joined(separator: ":")
  }

  /// The origin in the answers of passkeys (Credential Manager; WebAuthn Level 2 section 5.8.1 leaves it to the platform).
  var origin: String { "android:apk-key-hash:" + Base64URL.encode(certificate) }
}

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
