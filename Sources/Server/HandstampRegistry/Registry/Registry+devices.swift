public import HandstampCore

extension Registry {
  /// How long an account's device is known after one of its sessions there was last used.
  public static let deviceMemory = Duration.seconds(90 * 86_400)

  /// Returns whether a session of the account was used on the device within ``deviceMemory``.
  ///
  /// An installation draws its device ID at random, and no response of the API names those of others. So a stranger does not know
  /// the ID of a device that is known.
  public func knows(_ device: DeviceID, of account: AccountID, now: UnixTime) async throws(RegistryError) -> Bool {
    guard !device.rawValue.isEmpty else { return false }
    if try await liveItem(StoredItemID(device, of: account), now: now) != nil { return true }
    return try await liveSessions(of: account).contains {
      $0.client == nil && $0.device.id == device && $0.endReason(at: now) == nil
    }
  }

  /// The change that remembers the device of a session; `nil` for the session of another client, which has no device, and for one in a
  /// borrowed browser.
  ///
  /// - Parameter isOut: whether its session was ended from elsewhere. The owner is told when it signs in again.
  func remembering(
    _ row: SessionRow, isOut: Bool = false
  ) async throws(RegistryStoreError) -> RegistryChange? {
    guard row.client == nil, !row.isBorrowed, !row.device.id.rawValue.isEmpty else { return nil }
    let id = StoredItemID(row.device.id, of: row.account)
    var payload = isOut ? Registry.out : actor.language
    // The owner does not read there now: the session has expired, or a program began it.
    if payload == nil { payload = try await store.item(id).flatMap(Registry.languageRead) }
    return .putItem(
      StoredItem(
        id: id, kind: .device, subject: row.account.rawValue, payload: payload ?? "", createdAt: row.lastSeenAt,
        expiresAt: row.lastSeenAt.advanced(by: Registry.deviceMemory)))
  }

  /// The change after which a device is not known.
  func forgetting(_ device: DeviceID, of account: AccountID, now: UnixTime) -> RegistryChange {
    .putItem(
      StoredItem(
        id: StoredItemID(device, of: account), kind: .device, subject: account.rawValue, createdAt: now, expiresAt: now)
    )
  }

  /// Returns whether a sign-in on this device is news to the owner.
  func isNews(_ device: DeviceID, of account: AccountID, now: UnixTime) async throws(RegistryError) -> Bool {
    if let item = try await liveItem(StoredItemID(device, of: account), now: now) {
      return item.payload == Registry.out
    }
    return try await !knows(device, of: account, now: now)
  }

  /// The payload of a device whose session was ended from elsewhere. Otherwise it is the language that was read there, if known.
  private static let out = "out"

  static func languageRead(on device: StoredItem) -> String? {
    device.payload.isEmpty || device.payload == out ? nil : device.payload
  }
}

extension StoredItemID {
  init(_ device: DeviceID, of account: AccountID) { self.init(.device, account.rawValue, device.rawValue) }
}
