public import HandstampCore

/// Limits of web sessions: browsers signed in on the server's own pages. A web session alone gives access to no token.
public struct WebSessionLimits: Sendable, Hashable {
  /// Lifetime of a web session, used or not.
  public static let life = Duration.seconds(3600)
}

/// A browser signed in on the server's own pages.
public struct WebSession: Sendable, Hashable {
  public var account: AccountRecord
  /// When the user signed in.
  public var begunAt: UnixTime
  /// What it is stored as.
  let record: OneTimeTokenRecord

  /// The changes that let a write fail if the session has ended in the meantime, or the account has changed.
  var expectations: [RegistryChange] {
    [
      .redeemOneTimeToken(record.id), .createOneTimeToken(record),
      .expectAccount(account.id, revision: account.revision),
    ]
  }
}

extension Registry {
  /// Starts a web session with a fresh secret, and remembers the browser as a device of the account.
  public func beginWebSession(
    of account: AccountRecord, on browser: DeviceID, now: UnixTime
  ) async throws(RegistryError) -> OneTimeToken {
    let device = DeviceInfo(id: browser, name: "a web browser", platform: "web")
    let notice = try await noticing(device, of: account, now: now)
    return try await issue(
      .webSession, subject: account.id.rawValue, account: account.id, payload: account.credentialState,
      lasting: WebSessionLimits.life, now: now,
      with: [
        .expectAccount(account.id, revision: account.revision), remembering(browser, of: account.id, seenAt: now),
      ] + notice)
  }

  /// Returns a live web session, or `nil` if it is unknown, ended or expired, or if the account has a new password since.
  public func webSession(_ presented: Secret, now: UnixTime) async throws(RegistryError) -> WebSession? {
    guard let secret = OneTimeToken(presented: presented)?.secret,
      let record = try await liveOneTimeToken(OneTimeTokenID(of: secret, purpose: .webSession), now: now),
      let id = record.account,
      let account = try await account(id), account.closedAt == nil, account.credentialState == record.payload
    else { return nil }
    return WebSession(account: account, begunAt: record.createdAt, record: record)
  }

  /// Ends a web session. An unknown or invalid secret changes nothing.
  public func endWebSession(_ presented: Secret) async throws(RegistryError) {
    guard let secret = OneTimeToken(presented: presented)?.secret else { return }
    do throws(RegistryStoreError) {
      _ = try await store.write([.redeemOneTimeToken(OneTimeTokenID(of: secret, purpose: .webSession))], events: [])
    } catch {
      guard error == .notFound else { throw RegistryError(error) }
    }
  }
}

extension AccountRecord {
  /// Differs before and after every change of the password.
  fileprivate var credentialState: String { credentialsChangedAt.map { String($0.milliseconds) } ?? "" }
}
