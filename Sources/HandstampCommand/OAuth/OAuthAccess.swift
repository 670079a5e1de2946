#if Programs
import HandstampAsyncHTTP
import HandstampCore
import HandstampOAuth
import HandstampVaults

/// The backend of an account at an OAuth server. The secret of a confidential client is read when it is first needed: commands
/// that send nothing as this client ask for no passphrase.
final class OAuthAccess: Backend {
  let record: OAuthRecord
  /// The same without the client's secret: for what the server says of itself.
  let finder: OAuthBackend
  private let home: Home
  private let account: AccountID

  private static let transport = WitnessedTransport(base: AsyncHTTPTransport.shared)

  private struct State: Sendable {
    var backend: OAuthBackend?
    var trouble: VaultTrouble?
  }
  private let state = Locked(State())

  init(_ record: OAuthRecord, home: Home, account: AccountID) {
    self.record = record
    self.home = home
    self.account = account
    finder = OAuthBackend(record.settings(secret: nil), transport: OAuthAccess.transport)
  }

  /// Why the client's secret could not be read; `nil`: it could, or was not needed yet.
  var trouble: VaultTrouble? { state.withLock { $0.trouble } }

  /// - Throws: ``SessionError/storage(_:)`` when the secret cannot be read.
  func backend() async throws(SessionError) -> OAuthBackend {
    guard record.hasSecret == true else { return finder }
    if let known = state.withLock({ $0.backend }) { return known }
    do throws(VaultTrouble) {
      guard let secret = try await home.clientSecret(of: account) else {
        throw .unavailable("the client's secret is missing")
      }
      let backend = OAuthBackend(record.settings(secret: secret), transport: OAuthAccess.transport)
      state.withLock { $0 = State(backend: backend, trouble: nil) }
      return backend
    } catch {
      state.withLock { $0.trouble = error }
      throw .storage(error)
    }
  }

  // MARK: Backend

  var keepsRotationKeys: Bool { false }
  var authority: String? { record.issuer }

  @concurrent func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> {
    let backend: OAuthBackend
    do throws(SessionError) { backend = try await self.backend() } catch {
      return .failure(RefreshFailure(beforeSending: error))
    }
    return await backend.refresh(token, key: key)
  }

  @concurrent func revoke(_ handle: RevocationHandle) async throws(SessionError) {
    let backend: OAuthBackend
    // It is told later, when the secret can be read.
    do throws(SessionError) { backend = try await self.backend() } catch { throw .unreachable(retryAfter: nil) }
    try await backend.revoke(handle)
  }
}
#endif
