#if Operator
import Foundation
import HandstampCommandLine
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
    var trusts: [Trust]?
    var acr: AuthenticationContext?

    static let names: Set<String> = [
      "id", "name", "secretSHA256", "redirectURIs", "flows", "scopes", "audiences", "firstParty", "introspects",
      "accessTokenSigningAlg", "idTokenSigningAlg", "backChannelLogoutURI", "postLogoutRedirectURIs",
      "refreshOverlap", "codeProtection", "claimsInIDTokens", "webOrigins", "jwks", "trusts",
      "acr",
    ]
  }

  private struct Trust: Decodable {
    var issuer: String
    var audience: String
    var claims: [String: String]
  }

  static func clients(at path: String) throws(CommandError) -> [ConfiguredClient] {
    try clients(in: ListFile(.clients, at: path))
  }

  /// - Parameter given: an entry to read instead of the file's.
  static func clients(in file: ListFile, given: [String: Any]? = nil) throws(CommandError) -> [ConfiguredClient] {
    var clients: [ConfiguredClient] = []
    for (entry, object) in try file.entries(Entry.self, names: Entry.names, given: given) {
      do throws(ServerConfigurationError) {
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
            webOrigins: entry.webOrigins ?? [], jwks: keys(object["jwks"]),
            trusts: (entry.trusts ?? []).map {
              TrustedIssuer(issuer: $0.issuer, audience: $0.audience, claims: $0.claims)
            }, requiredContext: entry.acr))
      } catch {
        throw file.refusal("\(error)")
      }
    }
    return clients
  }

  /// The key set as text; an empty one, which is refused, for anything but an object.
  private static func keys(_ member: Any?) -> String? {
    guard let member else { return nil }
    guard let object = member as? [String: Any], let data = try? JSONSerialization.data(withJSONObject: object) else {
      return ""
    }
    return String(decoding: data, as: UTF8.self)
  }

  private static func hash(_ entry: Entry) throws(ServerConfigurationError) -> [UInt8]? {
    guard let text = entry.secretSHA256 else { return nil }
    guard let bytes = Hexadecimal.bytes(text.utf8), bytes.count == 32 else { throw .client(.badSecret(entry.id)) }
    return bytes
  }
}
#endif
