import Crypto
public import HandstampCore
import HandstampSupport

/// Where a session may still be, because an earlier version of the program kept it there: it moves to the vault at the first use, and
/// nothing stays behind.
///
/// ```swift
/// SessionManager(server: url, earlier: [.vault(.sealedFile("hello")), .server("https://old.example.org")])
/// ```
///
/// A move is repeated until it is complete, also after a crash at any point; until then the session is in one of the two places. While
/// the earlier place is locked or cannot be read and the vault holds no session, the vault reports that trouble: it is not known whether
/// a user is signed in. Of two sessions, the one that began later goes on, and the other one is revoked. Leave the line in the
/// program for as long as an earlier version may be updated.
public struct EarlierPlace: Sendable {
  package enum Kind: Sendable {
    case server(String)
    case vault(any Vault)
    case accounts(any AccountsStore, vault: @Sendable (AccountID) -> any Vault)
    case tokens(
      read: @Sendable () async throws -> TokenResponse?, remove: @Sendable () async throws -> Void)
  }
  package let kind: Kind

  package init(kind: Kind) { self.kind = kind }

  /// Another URL of the same server, by which sessions were begun: they go on at the new one. Without this line, a session of
  /// another URL is ``VaultError/otherServer(_:)``, and its tokens are not sent.
  public static func server(_ url: String) -> EarlierPlace { EarlierPlace(kind: .server(url)) }

  /// Another vault, such as one with another name, without an access group, or a file instead of the keychain.
  public static func vault(_ vault: any Vault) -> EarlierPlace { EarlierPlace(kind: .vault(vault)) }

  /// The list of `Accounts` of the program `name`, for a session that is not one of `Accounts`: the session of the active account
  /// moves, or of the only one; those of the other accounts are revoked.
  ///
  /// - Parameter vault: the vault of an account, as it was passed to `Accounts`; `nil` for the platform's usual one.
  public static func accounts(
    of name: String, vault: (@Sendable (AccountID) -> any Vault)? = nil
  ) -> EarlierPlace {
    EarlierPlace(
      kind: .accounts(FileAccountsStore.platform(name), vault: vault ?? { .standard(name, account: $0) }))
  }

  /// Tokens that the app stored itself.
  ///
  /// - Parameters:
  ///   - read: Returns them; `nil` if there are none. Throws if that is not known now, as on a locked device. A lifetime of zero
  ///     means that the first use refreshes; without an access token, pass an empty one. A profile has the ID that the server gives
  ///     the account; if the app does not know it, pass none. ``SessionManager/update(profile:)`` completes it later. Tokens without it
  ///     cannot become one of `Accounts`.
  ///   - remove: Removes them, once the vault holds them.
  public static func tokens(
    read: @escaping @Sendable () async throws -> TokenResponse?, remove: @escaping @Sendable () async throws -> Void
  ) -> EarlierPlace {
    EarlierPlace(kind: .tokens(read: read, remove: remove))
  }
}

extension TokenResponse {
  /// The session of tokens that the app stored itself; `nil` if none of them can be used. The same tokens give the same ID, so that
  /// none is taken over twice.
  func takenOver(at now: Moment, by abilities: BackendAbilities) -> StoredSession? {
    let isAccessUsable = (try? validate(isBearer: abilities.usesBearerTokens)) != nil
    let isRefreshUsable = tokens.refresh.map { $0.secret.isToken && $0.secret.count <= 256 << 10 } ?? false
    guard isAccessUsable || isRefreshUsable else { return nil }
    let secret = tokens.refresh?.secret ?? tokens.credential.secret
    let digest = secret.withExposedBytes { Array(SHA256.hash(data: Array($0)).prefix(16)) }
    var taken = StoredSession(
      self, id: sessionID ?? SessionID("local." + Base64URL.encode(digest)), at: now, issuer: abilities.issuer,
      revokesRefreshTokens: abilities.revokesRefreshTokens)
    if !isAccessUsable { taken.access = nil }
    return taken
  }
}

extension EarlierPlace {
  /// The earlier URL of the server, for one that is no place.
  var serverName: String? { if case .server(let name) = kind { name } else { nil } }
}

extension [EarlierPlace] {
  /// Whether a session of `issuer` is, or may be, one of the server with these abilities.
  func mayBelong(_ issuer: String?, to abilities: BackendAbilities) -> Bool {
    guard let issuer, let own = abilities.issuer else { return true }
    return issuer.isSameServer(as: own) || contains { $0.serverName?.isSameServer(as: issuer) ?? false }
  }
}
