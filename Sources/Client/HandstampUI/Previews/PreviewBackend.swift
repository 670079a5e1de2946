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

  @concurrent public func signIn(email: String, password: Secret, code: Secret?) async throws(SessionError)
    -> TokenResponse
  {
    PreviewBackend.signIn(PreviewBackend.profile(of: email))
  }

  @concurrent public func signInAnonymously() async throws(SessionError) -> TokenResponse {
    PreviewBackend.signIn(Profile(id: AccountID("guest"), name: "", isAnonymous: true))
  }

  @concurrent public func upgrade(by way: GuestUpgrade, token: AccessToken) async throws(SessionError) -> SignUpResponse
  {
    let name =
      switch way {
      case .password(_, _, let username), .passkey(_, let username, _): username
      case .apple(let credential): credential.name ?? "Ada"
      }
    return .signedIn(PreviewBackend.signIn(Profile(id: AccountID("guest"), name: name)))
  }

  @concurrent public func signInWithApple(_ credential: AppleCredential) async throws(SessionError) -> TokenResponse {
    PreviewBackend.signIn(PreviewBackend.profile(of: "ada"))
  }

  @concurrent public func signInWithPasskey(asking ask: @escaping PasskeyPrompt) async throws(SessionError)
    -> TokenResponse
  {
    PreviewBackend.signIn(PreviewBackend.profile(of: "ada"))
  }

  @concurrent public func requestPasswordReset(email: String) async throws(SessionError) {}

  @concurrent public func proofs(token: AccessToken) async throws(SessionError) -> Set<Proof.Kind> { [.password] }

  @concurrent public func reauthenticate(
    _ proof: Proof, token: AccessToken
  ) async throws(SessionError) -> AccessToken { token }

  @concurrent public func mailProof(token: AccessToken) async throws(SessionError) {}

  @concurrent public func changePassword(
    to new: Secret, endingOthers: Bool, proof: Proof?, token: AccessToken
  ) async throws(SessionError) {}

  @concurrent public func deleteAccount(proof: Proof?, token: AccessToken) async throws(SessionError) {}

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
