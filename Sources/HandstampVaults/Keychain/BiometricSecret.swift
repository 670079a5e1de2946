public import HandstampCore

/// A secret that the device hands out only to a person who is there: what a sign-in by face or finger is made with, such as
/// a password, or a token that the server issued for it.
///
/// It is in a keychain item of the strictest level: on this device only, while it is unlocked and has a passcode. Removing the
/// passcode removes it; so does, with ``Access/whoIsEnrolledNow``, another face or finger. The session itself is in a vault as
/// ever; nothing of it depends on this.
public struct BiometricSecret: Sendable {
  /// Whom it is handed out to.
  public enum Access: Sendable, Hashable {
    /// Whoever opens the device, by biometry or by its passcode.
    case owner
    /// Whoever is enrolled for biometry when it is stored, and nobody who is added later.
    case whoIsEnrolledNow
  }

  private let keychain: any ProtectedKeychain
  private let key: KeychainKey
  private let access: Access

  package init(_ keychain: any ProtectedKeychain, service: String, account: AccountID, access: Access) {
    self.keychain = keychain
    self.access = access
    key = KeychainKey(service: service + ".biometric", account: VaultFiles.digest(of: account))
  }

  /// Whether one is stored. Asks nobody; false also where it cannot be known.
  @concurrent public func isStored() async -> Bool {
    let status = keychain.find(key)
    return status == .success || status == .interactionNotAllowed
  }

  /// Stores it, in the place of an earlier one. Where that fails, there is none any more.
  ///
  /// - Throws: ``VaultTrouble/unavailable(_:)`` on a device without a passcode, ``VaultTrouble/locked`` on a locked one.
  @concurrent public func store(_ secret: Secret) async throws(VaultTrouble) {
    // Not an update: that would ask the person. A sign-in by other means is what is left when it fails in between.
    try remove(key)
    var data = secret.withExposedBytes { Array($0) }
    defer { wipe(&data) }
    let item = KeychainItem(key: key, group: nil, accessibility: StorageClass.biometric.accessibility, data: data)
    let status = keychain.add(item, access: access == .owner ? .userPresence : .biometryCurrentSet)
    if let trouble = status.trouble { throw trouble }
  }

  /// Asks the person, and hands it out.
  ///
  /// - Parameter reason: what they are told, such as "to sign you in".
  /// - Returns: nothing where none is stored, or it became useless because the passcode or what is enrolled was changed.
  /// - Throws: ``SessionError/presence(_:)`` when they said no, ``SessionError/storage(_:)`` when they cannot be asked.
  @concurrent public func secret(_ reason: String) async throws(SessionError) -> Secret? {
    switch keychain.copy(key, asking: reason) {
    case .success(var data):
      defer { wipe(&data) }
      return Secret(bytes: data)
    case .failure(.itemNotFound): return nil
    case .failure(.userCanceled), .failure(.authFailed): throw .presence(.declined)
    case .failure(let status): throw .storage(status.trouble ?? .unavailable("the keychain answered nothing"))
    }
  }

  /// That there is none is as good.
  @concurrent public func remove() async throws(VaultTrouble) { try remove(key) }

  private func remove(_ key: KeychainKey) throws(VaultTrouble) {
    let status = keychain.delete(key, group: nil)
    if status != .itemNotFound, let trouble = status.trouble { throw trouble }
  }
}
