public import HandstampCore
import HandstampSupport

/// A server in memory that accepts every sign-in, for previews and UI tests. Its tokens are worthless elsewhere, and nothing is
/// sent.
///
/// The part of an email address before the `@` is the account.
public struct PreviewBackend: AccountBackend {
  public init() {}

  public var abilities: BackendAbilities { BackendAbilities(supportsRotationKeys: true) }

  @concurrent public func refresh(_ request: RefreshRequest) async -> RefreshResult {
    .granted(TokenResponse(tokens: PreviewBackend.tokens))
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async -> RevocationResult { .ended }

  @concurrent public func signUp(
    email: String, password: Secret, username: String
  ) async throws(SessionError) -> SignUpResponse {
    .signedIn(PreviewBackend.signIn(Profile(id: PreviewBackend.profile(of: email).id, name: username)))
  }

  @concurrent public func confirmSignUp(_ code: Secret, password: Secret) async throws(SessionError) -> TokenResponse {
    PreviewBackend.signIn(PreviewBackend.profile(of: "ada"))
  }

  @concurrent public func signIn(email: String, password: Secret) async throws(SessionError) -> TokenResponse {
    PreviewBackend.signIn(PreviewBackend.profile(of: email))
  }

  @concurrent public func signInAnonymously() async throws(SessionError) -> TokenResponse {
    PreviewBackend.signIn(Profile(id: AccountID("guest"), name: "", isAnonymous: true))
  }

  @concurrent public func upgrade(
    email: String, password: Secret, username: String, token: AccessToken
  ) async throws(SessionError) -> SignUpResponse {
    .signedIn(PreviewBackend.signIn(Profile(id: AccountID("guest"), name: username)))
  }

  @concurrent public func signInWithApple(idToken: Secret, nonce: String) async throws(SessionError) -> TokenResponse {
    PreviewBackend.signIn(PreviewBackend.profile(of: "ada"))
  }

  @concurrent public func signInWithPasskey(
    asking ask: @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) -> TokenResponse { PreviewBackend.signIn(PreviewBackend.profile(of: "ada")) }

  @concurrent public func requestPasswordReset(email: String) async throws(SessionError) {}

  @concurrent public func changePassword(
    from old: Secret, to new: Secret, endingOthers: Bool, token: AccessToken
  ) async throws(SessionError) {}

  @concurrent public func deleteAccount(password: Secret?, token: AccessToken) async throws(SessionError) {}

  @concurrent public func endOtherSessions(token: AccessToken) async throws(SessionError) {}

  @concurrent public func registerPushToken(_ pushToken: Secret?, token: AccessToken) async throws(SessionError) {}

  /// `ada@example.org` is the account `ada`, named Ada.
  static func profile(of user: String) -> Profile {
    let id = user.prefix { $0 != "@" }
    return Profile(id: AccountID(String(id)), name: id.prefix(1).uppercased() + id.dropFirst())
  }

  private static var tokens: TokenSet {
    TokenSet(
      access: AccessToken("preview-access"), expiresIn: .seconds(3600), refresh: RefreshToken("preview-refresh"))
  }

  private static func signIn(_ profile: Profile) -> TokenResponse {
    TokenResponse(
      tokens: tokens, sessionID: SessionID(Base64URL.encode(randomBytes(12))), profile: profile,
      revocation: RevocationHandle("preview"))
  }
}
