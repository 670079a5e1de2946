import HandstampCore

/// An event that an account's owner is told of by mail.
public enum AccountNotice: String, Sendable, Hashable, CaseIterable {
  /// A sign-in on a device that was not used within ``Registry/deviceMemory``, or whose session was ended from elsewhere since; the
  /// first session of an OAuth client in a browser, and each on another device. The first device of a new account is not one.
  case newDevice = "new-device"
  /// The owner's sessions on other devices were ended from one of them.
  case sessionsEnded = "sessions-ended"
  /// The password was changed or removed, or set anew with a mailed code.
  case passwordChanged = "password-changed"
  /// A refresh token or a sign-in code was used twice, and its session ended.
  case tokenTheft = "token-theft"
  /// The address is to be changed, or was; both are told to the previous one.
  case emailChange = "email-change"
  case passkeyAdded = "passkey-added"
  case passkeyRemoved = "passkey-removed"
  /// An authenticator app was set up.
  case totpAdded = "totp-added"
  case totpRemoved = "totp-removed"
  /// A user of another provider may sign in to the account from now on.
  case identityLinked = "identity-linked"
  case identityUnlinked = "identity-unlinked"
  /// New recovery codes were made, and the previous ones no longer work.
  case recoveryCodesMade = "recovery-codes-made"
  /// A recovery code was used to sign in.
  case recoveryCodeUsed = "recovery-code-used"
}

/// The name of the device or the client that a notice is about.
package struct NoticedName: Sendable, Hashable {
  package var text: String
  /// The ID of the client whose name it is; `nil` for a device.
  package var client: String?

  static let none = NoticedName(text: "")
}

extension NoticedName {
  init(of row: SessionRow) { self.init(text: row.device.name, client: row.client?.id) }
}

extension Registry {
  /// How many mails to one account may be kept while notices of new devices are added: who knows the password must not flood
  /// the mailbox.
  private static let mostNotices = 10

  /// The change that stores the notice of a device that signs in, if its account has an address and does not know it.
  func noticing(
    _ device: DeviceID, named name: NoticedName, of account: AccountRecord, now: UnixTime
  ) async throws(RegistryError) -> [RegistryChange] {
    guard notices.contains(.newDevice), account.email != nil, try await isNews(device, of: account.id, now: now)
    else { return [] }
    let others = try await liveItems(.mail, of: account.id.rawValue, now: now)
    guard others.count < Registry.mostNotices else { return [] }
    return notice(.newDevice, of: account.id, name, now: now)
  }

  /// Tells the owner of a session of another client: of the first one in a browser, which is remembered, and of every one on another
  /// device, which a stranger may have talked the user into.
  func noticing(
    _ client: SessionClient, _ name: String, of account: AccountRecord, isElsewhere: Bool, now: UnixTime
  ) async throws(RegistryError) -> [RegistryChange] {
    let isKnown = try await isElsewhere ? false : liveItem(StoredItemID(client, of: account.id), now: now) != nil
    let name = NoticedName(text: name, client: client.id)
    // A device without an ID is never known.
    let notice = isKnown ? [] : try await noticing(DeviceID(""), named: name, of: account, now: now)
    return isElsewhere ? notice : notice + [remembering(client, of: account.id, for: Registry.deviceMemory, now: now)]
  }

  /// The change that remembers that the owner was told of a client.
  ///
  /// - Parameter memory: for how long; zero forgets it.
  func remembering(
    _ client: SessionClient, of account: AccountID, for memory: Duration, now: UnixTime
  ) -> RegistryChange {
    .putItem(
      StoredItem(
        id: StoredItemID(client, of: account), kind: .client, subject: account.rawValue, createdAt: now,
        expiresAt: now.advanced(by: memory)))
  }

  /// The change that stores a notice, to be part of the write that makes its event.
  func notice(
    _ notice: AccountNotice, of account: AccountID, _ name: NoticedName, now: UnixTime
  ) -> [RegistryChange] {
    guard notices.contains(notice), let kind = MailJob.Kind.allCases.first(where: { $0.notice == notice }) else {
      return []
    }
    let job = MailJob(
      kind: kind, account: account, name: name.text, client: name.client, language: actor.language)
    // Put, not created: a notice must not be what an end of a session fails for.
    return [
      .putItem(
        job.item(
          subject: account.rawValue, key: account.rawValue + " " + String(random(), radix: 36), delay: .zero, now: now))
    ]
  }
}

extension StoredItemID {
  fileprivate init(_ client: SessionClient, of account: AccountID) {
    self.init(.client, account.rawValue, client.id)
  }
}
