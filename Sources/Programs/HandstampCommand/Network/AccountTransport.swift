#if Command
import Handstamp
import HandstampCommandLine
import HandstampSupport
import HandstampTransports

/// The transport of an account with a network of its own. The proxy's password is read with the first request, so that commands that
/// send none do not prompt for a passphrase.
final class AccountTransport: Transport {
  private let record: NetworkRecord
  private let home: Home
  private let account: AccountID
  private let made = Locked<(any Transport)?>(nil)

  init(_ record: NetworkRecord, home: Home, account: AccountID) {
    (self.record, self.home, self.account) = (record, home, account)
  }

  /// - Throws: ``TransportError/notConnected(_:)`` if a secret of the network cannot be read.
  private func transport() async throws(TransportError) -> any Transport {
    if let known = made.withLock({ $0 }) { return known }
    let settings = try await settings()
    return made.withLock { made in
      let transport = made ?? CommandTransport.make(network: settings)
      made = transport
      return transport
    }
  }

  private func settings() async throws(TransportError) -> NetworkSettings {
    var credentials: Secret?
    if record.hasCredentials == true {
      do throws(VaultError) { credentials = try await home.credentialsFile(of: account).secret() } catch {
        throw NetworkFailure.credentialsUnreadable.error(CommandError(error).message)
      }
      guard credentials != nil else { throw NetworkFailure.credentialsUnreadable.error("they are missing") }
    }
    do throws(CommandError) { return try record.settings(credentials: credentials) } catch {
      throw NetworkFailure.invalidSettings.error(error.message)
    }
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    try await transport().send(request)
  }

  @concurrent func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await transport().upload(request, fromFile: path)
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await transport().open(request)
  }
}
#endif
