#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes

/// How strong the proofs of people have to be, as clients ask and the operator requires.
extension AccountService {
  /// Returns what the operator requires of an account's sign-in; `nil` for nothing.
  ///
  /// - Parameter client: the client that it is for; `nil` for the server's own app.
  func requiredContext(
    of account: AccountRecord, for client: ConfiguredClient? = nil
  ) async throws -> AuthenticationContext? {
    guard !account.isGuest else { return nil }
    return [try await assurance.requirement.context(of: account, in: registry), client?.requiredContext]
      .compactMap(\.self).max()
  }

  /// Returns the strongest context that an account can prove with what it has; `nil` with one factor alone.
  func reachableContext(of account: AccountRecord) async throws -> AuthenticationContext? {
    guard passkeys != nil else { return nil }
    guard try await registry.passkeys(of: account.id).isEmpty else { return .phishingResistant }
    return try await registry.totp(of: account.id) == nil ? nil : .multiFactor
  }

  /// Refuses a sign-in of an app that is weaker than the operator requires. Sessions that began before go on: a new rule signs out
  /// no user.
  ///
  /// - Throws: ``ProblemError`` `second_factor_missing`.
  func require(_ methods: AuthenticationMethods, of account: AccountRecord) async throws {
    guard methods.amount(to: try await requiredContext(of: account)) else {
      throw ProblemError.secondFactorMissing(at: assurance.page)
    }
  }

  /// Asks for a recent proof before the ways into an account are changed. Where the operator requires two factors and the account has
  /// them, it has to be such a proof: else one factor alone would be enough to add another second one. A recovery code counts, for
  /// it replaces a lost one.
  ///
  /// - Throws: ``ProblemError/reauthenticationRequired``.
  func requireStrongProof(_ owner: Owner) async throws {
    try requireProof(owner)
    guard let required = try await requiredContext(of: owner.account), !owner.methods.amount(to: required),
      owner.methods != .recoveryCode, try await keepsFactors(owner.account)
    else { return }
    throw ProblemError.reauthenticationRequired
  }

  /// Returns whether one factor alone must not add or remove another: the operator requires two, and the account has them.
  func keepsFactors(_ account: AccountRecord) async throws -> Bool {
    guard let required = try await requiredContext(of: account) else { return false }
    return try await reachableContext(of: account).map { $0 >= required } ?? false
  }

  /// Returns whether ``requireStrongProof(_:)`` lets the owner.
  func isStronglyProven(_ owner: Owner) async throws -> Bool {
    do { try await requireStrongProof(owner) } catch let problem as ProblemError
      where problem.code == ProblemError.reauthenticationRequired.code
    { return false }
    return true
  }
}

/// The operator's rule for the strength of proofs.
struct Assurance: Sendable {
  var requirement = AssuranceRequirement()
  /// The page where people set up a second factor.
  var page: String
}

extension ProblemError {
  /// The password, or another provider, is not enough for this account. A passkey helps.
  static func secondFactorMissing(at page: String) -> ProblemError {
    ProblemError(
      .forbidden, "second_factor_missing", "This account needs a second factor",
      detail:
        "Sign in with a passkey, or with the code of an authenticator app. To set one up, open \(page) in a browser.",
      page: page)
  }
}
#endif
