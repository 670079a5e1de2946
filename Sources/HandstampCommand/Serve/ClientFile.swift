#if Command
import Foundation
import HandstampRegistry
import HandstampServer
import HandstampSupport

/// Reads the file of OAuth clients, a JSON array.
enum ClientFile {
  static let hint =
    #"write it as [{"id": "cli", "redirectURIs": ["http://127.0.0.1/callback"], "flows": ["authorization_code", "device_code"]}]"#

  private struct Entry: Decodable {
    var id: String
    var name: String?
    var secretSHA256: String?
    var redirectURIs: [String]?
    var flows: [ConfiguredClient.Flow]?
    var scopes: [String]?
    var audiences: [String]?
    var firstParty: Bool?
    var introspects: Bool?
    var accessTokenSigningAlg: SigningKeys.Algorithm?
    var idTokenSigningAlg: SigningKeys.Algorithm?
    var backChannelLogoutURI: String?
    var postLogoutRedirectURIs: [String]?
    /// In seconds.
    var refreshOverlap: Int?
    var codeProtection: ConfiguredClient.CodeProtection?
    var claimsInIDTokens: Bool?
    var webOrigins: [String]?

    static let names: Set<String> = [
      "id", "name", "secretSHA256", "redirectURIs", "flows", "scopes", "audiences", "firstParty", "introspects",
      "accessTokenSigningAlg", "idTokenSigningAlg", "backChannelLogoutURI", "postLogoutRedirectURIs",
      "refreshOverlap", "codeProtection", "claimsInIDTokens", "webOrigins",
    ]
  }

  static func clients(at path: String) throws(Refusal) -> [ConfiguredClient] {
    guard let content = FileManager.default.contents(atPath: path) else {
      throw Refusal(.usage, "--clients: cannot read \(path)", hint: hint)
    }
    return try clients(in: content, of: path)
  }

  /// Refuses an entry that the server would refuse.
  static func check(_ entry: [String: Any], of path: String) throws(Refusal) {
    guard let content = try? JSONSerialization.data(withJSONObject: [entry]) else {
      throw Refusal(.usage, "\(path): not a client", hint: hint)
    }
    _ = try clients(in: content, of: path)
  }

  private static func clients(in content: Data, of path: String) throws(Refusal) -> [ConfiguredClient] {
    func refuse(_ words: String) -> Refusal { Refusal(.usage, "\(path): \(words)", hint: hint) }
    guard let objects = try? JSONSerialization.jsonObject(with: content) as? [[String: Any]],
      let entries = try? JSONDecoder().decode([Entry].self, from: content)
    else { throw refuse("not a list of clients") }
    // A mistyped setting could make a client less restricted than intended.
    if let unknown = objects.flatMap(\.keys).first(where: { !Entry.names.contains($0) }) {
      throw refuse("unknown setting \(unknown)")
    }
    var clients: [ConfiguredClient] = []
    for entry in entries {
      do throws(ClientFault) {
        clients.append(
          try ConfiguredClient(
            id: entry.id, name: entry.name, secretHash: try hash(entry), redirectURIs: entry.redirectURIs ?? [],
            flows: Set(entry.flows ?? [.code]), scopes: entry.scopes ?? [], audiences: entry.audiences ?? [],
            isFirstParty: entry.firstParty ?? false, introspects: entry.introspects ?? false,
            accessTokenSigning: entry.accessTokenSigningAlg ?? .es256,
            idTokenSigning: entry.idTokenSigningAlg ?? .es256, backChannelLogoutURI: entry.backChannelLogoutURI,
            postLogoutRedirectURIs: entry.postLogoutRedirectURIs ?? [],
            refreshOverlap: entry.refreshOverlap.map { .seconds($0) } ?? RefreshTerms.overlap,
            codeProtection: entry.codeProtection ?? .pkce, hasClaimsInIDTokens: entry.claimsInIDTokens,
            webOrigins: entry.webOrigins ?? []))
      } catch {
        throw refuse(error.words)
      }
    }
    return clients
  }

  private static func hash(_ entry: Entry) throws(ClientFault) -> [UInt8]? {
    guard let text = entry.secretSHA256 else { return nil }
    guard let bytes = Hexadecimal.bytes(text.utf8), bytes.count == 32 else { throw .badSecret(entry.id) }
    return bytes
  }
}

extension ClientFault {
  var words: String {
    switch self {
    case .badID: "a client ID is empty, or not printable ASCII"
    case .badSecret(let id): "client \(id): secretSHA256 is not a SHA-256 in hexadecimal"
    case .badRedirect(let id, let uri): "client \(id): redirect URI not allowed: \(uri)"
    case .noRedirect(let id): "client \(id): the authorization code flow needs a redirect URI"
    case .noSecret(let id): "client \(id): introspects needs a secretSHA256"
    case .badScope(let id, let scope): "client \(id): invalid scope \"\(scope)\""
    case .badOverlap(let id): "client \(id): refreshOverlap is not a number of seconds from 0 to 86400"
    case .noOpenID(let id): "client \(id): backChannelLogoutURI needs the scope openid"
    case .noPKCE(let id): "client \(id): without a secretSHA256, codeProtection has to be pkce"
    case .noNonce(let id): "client \(id): codeProtection nonce needs the scope openid"
    case .badOrigin(let id, let text): "client \(id): not the https origin of a web application: \(text)"
    case .noTransport(let id): "client \(id): backChannelLogoutURI needs a transport"
    case .noSigningKey(let id): "client \(id): RS256 needs an RSA key, and the signing key file has none"
    case .twice(let id): "duplicate client \(id)"
    }
  }
}
#endif
