#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport

/// A client that has registered itself (RFC 7591).
struct OAuthRegistration: Sendable, Hashable, Codable {
  /// The server that knows the client, and the redirect URI that it knows, as in ``OAuthRecord/redirect``.
  var issuer: String
  var redirect: String?
  /// `nil` if it has no secret, or one that does not expire.
  var secretExpiresAt: UnixTime?
}

/// How an account signs in by OAuth: issuer, client and redirect URI. Nothing in it is secret; the secret of a confidential
/// client is sealed beside the vault.
struct OAuthRecord: Sendable, Hashable, Codable {
  /// The issuer, as the server's metadata spells it.
  var issuer: String
  var client: String
  /// Those that a sign-in asks for.
  var scopes: [String]
  /// Those that the last sign-in was granted; `nil` if it was granted all of them, or the server did not say.
  var granted: [String]?
  /// The redirect URI registered at the server; `nil` for `/callback` on 127.0.0.1, on any port.
  var redirect: String?
  /// Whether the client has a secret; `nil` means no.
  var hasSecret: Bool?
  /// For how many seconds the server accepts a replaced refresh token again, 0 for not at all; `nil` if that is not known.
  var overlap: Int?
  /// Whether tokens without a type are bearer tokens; `nil` means no.
  var assumesBearer: Bool?
  /// The kind of the server, a name of `OAuthProvider`; `nil` for that of the issuer, if it is known.
  var provider: String?
  /// Endpoints that the server does not publish, by the raw values of `OAuthProvider.Endpoint`.
  var endpoints: [String: String]?
  /// Where the client's secret goes, `form` or `header`; `nil` as the server says.
  var secretPlace: String?
  /// The members of the userinfo response that identify the user; `nil` for the usual ones.
  var userID: [String]?
  /// Additional parameters of a sign-in.
  var parameters: [String: String]?
  /// The APIs that the token is for (RFC 8707).
  var resources: [String]?
  /// Whether tokens are bound to the key of ``Home/prover(of:)`` (RFC 9449); `nil` means no.
  var isBound: Bool?
  /// The thumbprint of that key (RFC 7638).
  var key: String?
  /// The registration of a client that has registered itself; `nil` for any other one.
  var registration: OAuthRegistration?

  /// Returns those of `scopes` that the last sign-in was not granted; `nil` if it was granted all.
  func lacked(of scopes: [String]) -> [String]? {
    let missing = scopes.filter { !(granted ?? self.scopes).contains($0) }
    return missing.isEmpty ? nil : missing
  }

  /// How the server treats a replaced refresh token; `nil` if the user has not said.
  var reuse: RefreshTokenReuse? { overlap.map { $0 == 0 ? .never : .overlap(.seconds($0)) } }

  func settings(secret: Secret?) -> OAuthClient {
    var client = OAuthClient(
      issuer: issuer, id: client, secret: secret, scopes: scopes, resources: resources ?? [],
      parameters: parameters ?? [:])
    client.assumesBearerTokens = assumesBearer ?? false
    client.provider = described
    client.redirectURI = redirect
    return client
  }

  /// The user's description of the server, on top of what is known; `nil` if there is none.
  private var described: OAuthProvider? {
    guard provider != nil || endpoints != nil || secretPlace != nil || userID != nil else { return nil }
    var described =
      provider.flatMap { OAuthProvider(named: $0, at: issuer) } ?? OAuthProvider(of: issuer) ?? OAuthProvider()
    for (name, place) in endpoints ?? [:] {
      // A later version may know others.
      if let endpoint = OAuthProvider.Endpoint(rawValue: name) { described.endpoints[endpoint] = place }
    }
    if let place = secretPlace.flatMap({ OAuthProvider.SecretPlace(rawValue: $0) }) { described.clientSecretIn = place }
    if let userID { described.userID = userID }
    return described
  }

  /// Whether both sign in as the same client; `nil` stands for Handstamp's own protocol.
  static func isSameClient(_ one: OAuthRecord?, _ other: OAuthRecord?) -> Bool {
    one?.issuer == other?.issuer && one?.client == other?.client
  }

  /// The redirect URI to register, for messages.
  var redirectWords: String { redirect ?? "http://127.0.0.1/callback (with any port)" }
}

extension Home {
  func oauthPath(of account: AccountID) -> String { file(in: "oauth", for: account.rawValue) }

  /// Returns how the account signs in by OAuth; `nil` for Handstamp's own protocol.
  ///
  /// - Throws: A refusal if the file cannot be read: falling back to another protocol would be wrong.
  func oauth(of account: AccountID) throws(CommandError) -> OAuthRecord? {
    do throws(DescribedError) {
      if let record = try PlainFile.json(at: oauthPath(of: account), as: OAuthRecord.self) { return record }
    } catch { throw CommandError.unreadable(oauthPath(of: account)) }
    let folder = path + "/oauth"
    guard FileFacts(folder) == nil || FileFacts.isFolder(folder) else { throw CommandError.unreadable(folder) }
    try check()
    return nil
  }

  func clientSecretFile(of account: AccountID) -> SealedFile {
    SealedFile(beside: vault(of: account), account: account, purpose: "client", limit: 64 << 10)
  }

  /// Returns the secret of the client that an account signs in by; `nil` for a public one.
  func clientSecret(of account: ListedAccount, _ record: OAuthRecord) async throws(CommandError) -> Secret? {
    guard record.hasSecret == true else { return nil }
    do throws(VaultError) { return try await clientSecretFile(of: account.id).secret() } catch {
      throw CommandError(error)
    }
  }

  /// Saves the record; `nil` removes it together with the client secret.
  func save(_ record: OAuthRecord?, of account: AccountID) throws(CommandError) {
    let path = oauthPath(of: account)
    guard let record else {
      guard unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR else { throw unwritable() }
      return try clientSecretFile(of: account).forget()
    }
    try write(record, to: path, isPretty: true)
  }
}

extension SealedFile {
  /// Seals a secret with the vault key.
  func keep(_ secret: Secret) async throws(CommandError) {
    do throws(VaultError) { try await save(secret) } catch { throw CommandError(error) }
  }

  /// Removes the secret, if there is one.
  func forget() throws(CommandError) {
    do throws(VaultError) { try remove() } catch { throw CommandError(error) }
  }
}

extension CommandError {
  fileprivate static func unreadable(_ path: String) -> CommandError {
    CommandError(
      .failure, "cannot read \(path), which says how an account signs in",
      hint: "run: handstamp doctor --set-aside", concernsHome: true)
  }
}
#endif
