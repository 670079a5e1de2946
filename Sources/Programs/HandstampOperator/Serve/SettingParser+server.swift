#if Operator
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport

extension SettingParser where Value == String {
  static var secureURL: Self {
    text("an https URL") { Origin($0)?.isTrustworthy == true && !$0.contains(/[#\s]/) }
  }

  static var secretFile: Self { anything(because: "SettingValues reads it with the secret") }

  /// The address of a web page, or of an app by its own scheme (RFC 8252 section 7.1).
  ///
  /// - Parameter names: what it may have in braces; the first is required.
  static func link(_ words: String, with names: [String] = []) -> Self {
    text(words) { link in
      let plain = names.reduce(link) { $0.replacing("{\($1)}", with: $1) }
      guard let parts = URLComponents(string: plain), let scheme = parts.scheme?.lowercased(),
        names.first.map({ link.contains("{\($0)}") }) ?? true, !plain.contains(/[{}\s]/)
      else { return false }
      return ["http", "https"].contains(scheme) ? parts.host?.isHost == true : scheme.contains(".")
    }
  }
}

extension String {
  /// Whether it is an IP address, or the name of a host: a name does not end with a number (WHATWG URL section 3.5).
  var isHost: Bool {
    let labels = split(separator: ".", omittingEmptySubsequences: false)
    return IPAddress(trimmingPrefix("[").prefix { $0 != "]" }) != nil
      || wholeMatch(of: /[A-Za-z0-9._-]+/) != nil && !labels.contains("") && labels.last.flatMap { Int($0) } == nil
  }
}

extension SettingParser where Value == [String] {
  /// RFC 6749 section 3.3.
  static var scopes: Self {
    list("a list of scopes") { scopes in
      let areScopes = scopes.allSatisfy { scope in
        !scope.isEmpty && scope.utf8.allSatisfy { (33...126).contains($0) && $0 != 34 && $0 != 92 }
      }
      return areScopes ? scopes : nil
    }
  }
}

extension SettingParser where Value == PageSettings.Image {
  static var image: Self {
    Self("an image that can be read") { path in
      // With what such a file has near its beginning; in SVG, a comment may be first.
      let jpeg = ("image/jpeg", [0xFF, 0xD8, 0xFF] as [UInt8], 3)
      let types = [
        "svg": ("image/svg+xml", Array("<svg".utf8), 262_144), "png": ("image/png", Array("PNG\r\n".utf8), 16),
        "jpg": jpeg, "jpeg": jpeg, "webp": ("image/webp", Array("WEBP".utf8), 16),
      ]
      guard let (type, mark, length) = types[URL(fileURLWithPath: path).pathExtension.lowercased()],
        let content = FileManager.default.contents(atPath: path), (1...262_144).contains(content.count),
        content.prefix(length).range(of: Data(mark)) != nil
      else { return nil }
      return PageSettings.Image(bytes: Array(content), type: type)
    }
  }
}

extension AssuranceRequirement {
  /// Parses `GROUP=mfa` and `GROUP=phr`.
  init?(settings texts: [String]) {
    self.init()
    for text in texts {
      let parts = text.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      let contexts: [String: AuthenticationContext] = ["mfa": .multiFactor, "phr": .phishingResistant]
      guard parts.count == 2, Registry.isGroup(parts[0]), groups[parts[0]] == nil, let context = contexts[parts[1]]
      else { return nil }
      groups[parts[0]] = context
    }
  }
}

extension TrustedProxies {
  /// Parses addresses, and `unix`.
  init?(_ texts: [String]) {
    self.init()
    for text in texts {
      if text == "unix" {
        trustsUnixSockets = true
      } else if let range = AddressRange(text) {
        ranges.append(range)
      } else {
        return nil
      }
    }
  }
}

extension ListeningAddress {
  /// Parses `127.0.0.1:9464` or `[::1]:9464`.
  init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { return nil }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if host.contains(":") {
      return nil
    }
    guard host.isHost else { return nil }
    self = .host(host, port: port)
  }
}

extension SettingValues<ServeSettings> {
  /// The variable or file that the keys are in; `nil` if it is the data folder.
  var keysPlace: String? { (self["keys-file"] ?? self["keys"])?.place }

  /// Returns the keys, if they are not kept in the data folder.
  func keys() throws(CommandError) -> ServerKeys? {
    guard let text = try secret("keys"), let place = keysPlace else { return nil }
    do throws(RegistryOpenError) { return try KeyFile.keys(text: text, named: place) } catch {
      throw CommandError(.usage, plain("\(error)"), hint: "set \(place) to the full text of a keys.json")
    }
  }

  /// Refuses files that say what the server does, if every user of the machine can write to them.
  func requireOwn(_ more: [String]) throws(CommandError) {
    var paths = more + ServeSettings.all.filter(\.isPath).compactMap { self[$0.name]?.text }
    if let folder = self["pages"]?.text {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      paths += [folder] + names.map { "\(folder)/\($0)" }
    }
    do throws(RegistryOpenError) { for path in paths { try PrivateFile.requireOwn(path) } } catch {
      throw CommandError(.usage, plain("\(error)"), hint: plain(error.hint))
    }
  }
}
#endif
