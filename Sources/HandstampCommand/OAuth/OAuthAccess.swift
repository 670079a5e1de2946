#if Command
import HandstampCore
import HandstampOAuth
import HandstampSupport
import HandstampVaults

/// The backend of an account at an OAuth server. The secret of a confidential client is read when first needed, so that
/// commands that do not authenticate as the client do not prompt for a passphrase.
final class OAuthAccess: Backend {
  let record: OAuthRecord
  /// A backend without the client secret, for the server's metadata.
  let finder: OAuthBackend
  private let home: Home
  private let account: AccountID
  /// Whether the account signs in by another client now.
  private let isFormer: Bool

  private struct State: Sendable {
    var backend: OAuthBackend?
    var trouble: VaultError?
  }
  private let state = Locked(State())

  init(_ record: OAuthRecord, home: Home, account: AccountID, isFormer: Bool = false) {
    self.record = record
    self.isFormer = isFormer
    self.home = home
    self.account = account
    finder = OAuthBackend(record.settings(secret: nil), transport: CommandTransport.shared)
  }

  /// Why the client secret could not be read; `nil` if it could, or was not needed yet.
  var trouble: VaultError? { state.withLock { $0.trouble } }

  /// Returns the backend with the client secret.
  ///
  /// - Throws: ``SessionError/storage(_:)`` if the secret cannot be read.
  func backend() async throws(SessionError) -> OAuthBackend {
    guard record.hasSecret == true else { return finder }
    if let known = state.withLock({ $0.backend }) { return known }
    do throws(VaultError) {
      let secret =
        isFormer
        ? try await home.formerSecret(of: record.client, account) : try await home.clientSecret(of: account)
      guard let secret else {
        throw .unavailable("the client secret is missing")
      }
      let backend = OAuthBackend(record.settings(secret: secret), transport: CommandTransport.shared)
      state.withLock { $0 = State(backend: backend, trouble: nil) }
      return backend
    } catch {
      state.withLock { $0.trouble = error }
      throw .storage(error)
    }
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
    // The revocation is retried later, when the secret can be read.
    do throws(SessionError) { backend = try await self.backend() } catch { return .noDecision(.preparation(error)) }
    return await backend.revoke(handle)
  }
}
#endif
