#if Command
import Foundation
import HandstampRegistry
import HandstampServer
import HandstampStorage
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

  static func clients(at path: String) throws(CommandError) -> [ConfiguredClient] {
    guard let (content, _) = try read(path) else {
      throw CommandError(
        .usage, "--clients: \(path) is missing",
        hint: "add a client with handstamp admin clients add, which creates the file")
    }
    return try clients(in: content, of: path)
  }

  /// Returns the content and the mode of the file, or `nil` if it does not exist.
  static func read(_ path: String) throws(CommandError) -> (Data, mode: UInt32)? {
    do throws(RegistryOpenError) { return try PrivateFile.read(path, limit: .max) } catch {
      throw CommandError(
        .usage, "--clients: \(error)",
        hint: "let the server's user read it: chmod 644 \(path), and chmod 755 for its folder")
    }
  }

  /// Refuses an entry that the server would refuse.
  static func check(_ entry: [String: Any], of path: String) throws(CommandError) {
    guard let content = try? JSONSerialization.data(withJSONObject: [entry]) else {
      throw CommandError(.usage, "\(path): not a client", hint: hint)
    }
    _ = try clients(in: content, of: path)
  }

  private static func clients(in content: Data, of path: String) throws(CommandError) -> [ConfiguredClient] {
    func refuse(_ words: String) -> CommandError { CommandError(.usage, "\(path): \(words)", hint: hint) }
    guard let objects = try? JSONSerialization.jsonObject(with: content) as? [[String: Any]],
      let entries = try? JSONDecoder().decode([Entry].self, from: content)
    else { throw refuse("not a list of clients") }
    // A mistyped setting could make a client less restricted than intended.
    if let unknown = objects.flatMap(\.keys).first(where: { !Entry.names.contains($0) }) {
      throw refuse("unknown setting \(unknown)")
    }
    var clients: [ConfiguredClient] = []
    for entry in entries {
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
            webOrigins: entry.webOrigins ?? []))
      } catch {
        throw refuse("\(error)")
      }
    }
    return clients
  }

  private static func hash(_ entry: Entry) throws(ServerConfigurationError) -> [UInt8]? {
    guard let text = entry.secretSHA256 else { return nil }
    guard let bytes = Hexadecimal.bytes(text.utf8), bytes.count == 32 else { throw .client(.badSecret(entry.id)) }
    return bytes
  }
}
#endif
