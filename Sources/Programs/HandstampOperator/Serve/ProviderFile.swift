#if Operator
import Foundation
import HandstampCommandLine
import HandstampServer

/// Reads the file of the providers that people sign in with, a JSON array. Their secrets are in files of their own.
enum ProviderFile {
  static let hint = #"write it as [{"id": "google", "clientID": "…", "clientSecretFile": "google.secret"}]"#

  private struct Entry: Decodable {
    var id: String
    /// The ID of a ``KnownProvider``, if it is not the entry's own.
    var like: String?
    var name: String?
    var issuer: String?
    var clientID: String
    var clientSecretFile: String?
    var nativeClientIDs: Set<String>?
    var scopes: [String]?
    var userInfo: Mapping?
    var trustsEmail: Bool?
    var signUp: String?
    var logo: String?
    /// Where the provider keeps security events (RFC 8936), and the file with the bearer token for it.
    var eventsURL: String?
    var eventsTokenFile: String?

    static let names: Set<String> = [
      "id", "like", "name", "issuer", "clientID", "clientSecretFile", "nativeClientIDs", "scopes", "userInfo",
      "trustsEmail", "signUp", "logo", "eventsURL", "eventsTokenFile",
    ]
  }

  private struct Mapping: Decodable {
    var authorizationEndpoint, tokenEndpoint, userInfoEndpoint, emailsEndpoint: String?
    var id, email, emailVerified: String?
    var names: [String]?

    func applied(to known: UserInfoMapping?) -> UserInfoMapping {
      var mapping = known ?? UserInfoMapping()
      mapping.authorizationEndpoint = authorizationEndpoint ?? mapping.authorizationEndpoint
      mapping.tokenEndpoint = tokenEndpoint ?? mapping.tokenEndpoint
      mapping.userInfoEndpoint = userInfoEndpoint ?? mapping.userInfoEndpoint
      mapping.emailsEndpoint = emailsEndpoint ?? mapping.emailsEndpoint
      mapping.id = id ?? mapping.id
      mapping.email = email ?? mapping.email
      mapping.emailVerified = emailVerified ?? mapping.emailVerified
      mapping.names = names ?? mapping.names
      return mapping
    }
  }

  static func providers(at path: String) throws(CommandError) -> [UpstreamProvider] {
    try providers(in: ListFile(.providers, at: path))
  }

  /// - Parameter given: an entry to read instead of the file's.
  static func providers(in file: ListFile, given: [String: Any]? = nil) throws(CommandError) -> [UpstreamProvider] {
    var providers: [UpstreamProvider] = []
    for (entry, _) in try file.entries(Entry.self, names: Entry.names, given: given) {
      providers.append(try provider(entry, of: file.path, file.refusal))
    }
    if let defect = providers.defect { throw file.refusal(defect) }
    return providers
  }

  private static func provider(
    _ entry: Entry, of path: String, _ refuse: (String) -> CommandError
  ) throws(CommandError) -> UpstreamProvider {
    let known = KnownProvider.named(entry.like ?? entry.id)
    guard known != nil || entry.like == nil else { throw refuse("nothing is known of a provider \(entry.like ?? "")") }
    guard let issuer = entry.issuer ?? known?.issuer else { throw refuse("the provider \(entry.id) has no issuer") }
    // Names in the file are below its folder.
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    func place(_ name: String) -> String { URL(fileURLWithPath: name, relativeTo: folder).path }
    var mapping = entry.userInfo.map { $0.applied(to: known?.userInfo) } ?? known?.userInfo
    if let own = entry.issuer, mapping != nil, let known {
      mapping?.kind = known.id
      // "Getting started with the REST API" of GitHub Enterprise Server.
      if known.id == "github", entry.userInfo?.emailsEndpoint == nil {
        mapping?.emailsEndpoint = own + "/api/v3/user/emails"
      }
    }
    var provider = UpstreamProvider(
      id: entry.id, name: entry.name ?? known?.name ?? entry.id, issuer: issuer, clientID: entry.clientID,
      clientSecret: try entry.clientSecretFile.map { name throws(CommandError) in
        try SecretFile.firstLine(of: place(name), for: "clientSecretFile of \(entry.id)", code: .usage)
      },
      scopes: entry.scopes ?? known?.scopes ?? ["openid", "email", "profile"], userInfo: mapping)
    provider.nativeClientIDs = entry.nativeClientIDs ?? []
    provider.trustsEmail = entry.trustsEmail ?? false
    if let url = entry.eventsURL {
      guard let name = entry.eventsTokenFile else { throw refuse("eventsURL of \(entry.id) lacks eventsTokenFile") }
      provider.polling = UpstreamPolling(
        endpoint: url,
        token: try SecretFile.firstLine(of: place(name), for: "eventsTokenFile of \(entry.id)", code: .usage))
    }
    guard let signUp = UpstreamProvider.SignUp(text: entry.signUp ?? "open") else {
      throw refuse("signUp of \(entry.id) is not open, invited, or domain: and domains")
    }
    provider.signUp = signUp
    if let name = entry.logo {
      guard let logo = SettingParser<PageSettings.Image>.image.parse(place(name)) else {
        throw refuse("\(name) is not an image in SVG, PNG, JPEG or WebP of at most 256 KiB")
      }
      provider.logo = logo
    }
    return provider
  }
}

extension UpstreamProvider.SignUp {
  /// `open`, `invited`, or `domain:` and domains separated by commas.
  init?(text: String) {
    switch text {
    case "open": self = .open
    case "invited": self = .invited
    default:
      guard text.hasPrefix("domain:") else { return nil }
      self = .domains(text.dropFirst("domain:".count).split(separator: ",").map { $0.lowercased() })
    }
  }

  var text: String {
    switch self {
    case .open: "open"
    case .invited: "invited"
    case .domains(let domains): "domain:" + domains.joined(separator: ",")
    }
  }
}

/// The facts about a provider whose name is enough.
struct KnownProvider {
  let id: String
  let name: String
  let issuer: String
  var scopes = ["openid", "email", "profile"]
  var userInfo: UserInfoMapping?

  /// Read in November 2026 in the providers' documentation.
  static let all = [
    KnownProvider(id: "apple", name: "Apple", issuer: "https://appleid.apple.com", scopes: ["openid"]),
    KnownProvider(
      id: "discord", name: "Discord", issuer: "https://discord.com", scopes: ["identify", "email"], userInfo: .discord),
    KnownProvider(
      id: "github", name: "GitHub", issuer: "https://github.com", scopes: ["read:user", "user:email"],
      userInfo: .gitHub),
    KnownProvider(id: "gitlab", name: "GitLab", issuer: "https://gitlab.com"),
    KnownProvider(id: "google", name: "Google", issuer: "https://accounts.google.com"),
    KnownProvider(id: "linkedin", name: "LinkedIn", issuer: "https://www.linkedin.com/oauth"),
    KnownProvider(id: "slack", name: "Slack", issuer: "https://slack.com"),
  ]

  static var names: String { all.map(\.id).joined(separator: ", ") }

  static func named(_ id: String) -> KnownProvider? { all.first { $0.id == id } }
}
#endif
