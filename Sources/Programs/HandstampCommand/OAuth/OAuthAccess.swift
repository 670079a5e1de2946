#if Command
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport

/// The backend of an account at an OAuth server. The secret of a confidential client is read when first needed, so that
/// commands that do not authenticate as the client do not prompt for a passphrase.
final class OAuthAccess: Backend {
  let record: OAuthRecord
  /// A backend without the client secret, for the server's metadata.
  let finder: OAuthBackend
  private let transport: any Transport
  private let home: Home
  private let account: AccountID
  /// Whether the account signs in by another client now.
  private let isPrevious: Bool

  private struct State: Sendable {
    /// By whether they prove the possession of a key.
    var backends: [Bool: OAuthBackend] = [:]
    var trouble: VaultError?
  }
  private let state = Locked(State())

  init(_ record: OAuthRecord, home: Home, account: AccountID, isPrevious: Bool = false, over transport: any Transport) {
    self.transport = transport
    self.record = record
    self.isPrevious = isPrevious
    self.home = home
    self.account = account
    finder = OAuthBackend(record.settings(secret: nil), transport: transport)
  }

  /// Why the client secret could not be read; `nil` if it could, or was not needed yet.
  var trouble: VaultError? { state.withLock { $0.trouble } }

  /// Returns the backend with the client secret, and with the key that tokens are bound to.
  ///
  /// - Parameter isProving: `false` for a request that needs no proof.
  /// - Throws: ``SessionError/storage(_:)`` if either cannot be read.
  func backend(isProving: Bool = true) async throws(SessionError) -> OAuthBackend {
    let isProving = isProving && record.isBound == true
    guard record.hasSecret == true || isProving else { return finder }
    if let known = state.withLock({ $0.backends[isProving] }) { return known }
    let prover = isProving ? try home.prover(of: record) : nil
    do throws(VaultError) {
      guard record.hasSecret == true else { return remember(record.settings(secret: nil), prover) }
      let file = isPrevious ? home.secretFile(of: record.client, account) : home.clientSecretFile(of: account)
      guard let secret = try await file.secret() else { throw .unavailable("the client secret is missing") }
      return remember(record.settings(secret: secret), prover)
    } catch {
      state.withLock { $0.trouble = error }
      throw .storage(error)
    }
  }

  private func remember(_ client: OAuthClient, _ prover: DPoPProver?) -> OAuthBackend {
    let backend = OAuthBackend(client, transport: transport, proving: prover)
    state.withLock { state in
      state.backends[prover != nil] = backend
      state.trouble = nil
    }
    return backend
  }

  // MARK: Backend

  var abilities: BackendAbilities { finder.abilities }

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    let backend: OAuthBackend
    do throws(SessionError) { backend = try await self.backend() } catch { return .noDecision(.preparation(error)) }
    return await backend.refresh(request)
  }

  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    let backend: OAuthBackend
    // The revocation is retried later, when the secret can be read. A lost key does not matter: only requests for tokens, and for what
    // they open, are proven (RFC 9449 sections 5 and 7).
    do throws(SessionError) { backend = try await self.backend(isProving: false) } catch {
      return .noDecision(.preparation(error))
    }
    return await backend.revoke(handle)
  }
}
#endif
