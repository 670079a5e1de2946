import HandstampCore

/// An event that an account's owner is told of by mail.
public enum AccountNotice: String, Sendable, Hashable, CaseIterable {
  /// A sign-in on a device that was not used within ``Registry/deviceMemory``. The first device of a new account is not one.
  case newDevice = "new-device"
  /// The password was changed, or set anew with a mailed code.
  case passwordChanged = "password-changed"
  /// A copied refresh token was noticed, and its session ended.
  case tokenTheft = "token-theft"
}

extension Registry {
  /// How many mails to one account may be kept while notices of new devices are added: who knows the password must not flood
  /// the mailbox.
  private static let mostNotices = 10

  /// The change that stores the notice of a device that signs in, if its account has an address and does not know it.
  func noticing(_ device: DeviceInfo, of account: AccountRecord, now: UnixTime) async throws(RegistryError)
    -> [RegistryChange]
  {
    guard notices.contains(.newDevice), account.email != nil, try await isNews(device.id, of: account.id, now: now)
    else { return [] }
    let others = try await reading { () throws(RegistryStoreError) in
      try await store.facts(.mail, subject: account.id.rawValue)
    }
    guard others.count(where: { $0.expiresAt > now }) < Registry.mostNotices else { return [] }
    return notice(.newDevice, of: account.id, device: device.name, now: now)
  }

  /// Tells the owner of a session of another client: of the first one in a browser, which is remembered, and of every one on another
  /// device, which a stranger may have talked the user into.
  func noticing(
    _ client: SessionClient, _ name: String, of account: AccountRecord, isElsewhere: Bool, now: UnixTime
  ) async throws(RegistryError) -> [RegistryChange] {
    let device = DeviceInfo(id: DeviceID(isElsewhere ? "" : "client \(client.id)"), name: name, platform: "client")
    let notice = try await noticing(device, of: account, now: now)
    return isElsewhere ? notice : notice + [remembering(device.id, of: account.id, seenAt: now)]
  }

  /// The change that stores a notice, to be part of the write that makes its event.
  ///
  /// - Parameter device: the name of the device in question, or an empty text.
  func notice(
    _ notice: AccountNotice, of account: AccountID, device: String, now: UnixTime
  ) -> [RegistryChange] {
    guard notices.contains(notice) else { return [] }
    let job = MailJob.notice(notice, of: account, device: device)
    // Put, not created: a notice must not be what an end of a session fails for.
    return [
      .putFact(
        job.fact(
          subject: account.rawValue, key: account.rawValue + " " + String(random(), radix: 36), delay: .zero, now: now))
    ]
  }
}
