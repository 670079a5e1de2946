public import HandstampCore

/// A secret that the device releases only after confirming the user's presence, for signing in by face or fingerprint:
/// a password, or a token issued for this purpose by the server.
///
/// It is kept in a keychain item of the strictest level: on this device only, while it is unlocked and has a passcode.
/// Removing the passcode deletes it; with ``Access/currentBiometrySet``, so does enrolling another face or fingerprint.
/// The session itself stays in its vault and does not depend on this secret: a vault's items need no presence, because a refresh in the
/// background, a sign-out or another process could not answer a question.
public struct BiometricSecret: Sendable {
  /// The condition for releasing the secret.
  public enum Access: Sendable, Hashable {
    /// Biometry or the device's passcode.
    case owner
    /// The biometry enrolled when the secret is stored, and none added later.
    case currentBiometrySet
  }

  private let keychain: any ProtectedKeychain
  private let key: KeychainKey
  private let access: Access

  package init(_ keychain: any ProtectedKeychain, service: String, account: AccountID, access: Access) {
    self.keychain = keychain
    self.access = access
    key = KeychainKey(service: service + ".biometric", account: VaultFiles.digest(of: account))
  }

  /// Whether a secret is stored. Does not ask the user. `false` also if it cannot be determined.
  @concurrent public func isStored() async -> Bool {
    let status = keychain.find(key)
    return status == .success || status == .interactionNotAllowed
  }

  /// Stores a secret, replacing an earlier one. If this fails, none is stored any more.
  ///
  /// - Throws: ``VaultError/unavailable(_:)`` on a device without a passcode, ``VaultError/locked`` on a locked
  ///   one.
  @concurrent public func store(_ secret: Secret) async throws(VaultError) {
    // Not an update, which would ask the user. If adding fails, the user can still sign in by other means.
    try await remove()
    var data = secret.withExposedBytes { Array($0) }
    defer { wipe(&data) }
    let item = KeychainItem(key: key, group: nil, accessibility: StorageClass.biometric.accessibility, data: data)
    try keychain.add(item, access: access == .owner ? .userPresence : .biometryCurrentSet).check()
  }

  /// Asks the user to confirm presence, and returns the secret.
  ///
  /// - Parameter reason: The reason shown to the user, such as "to sign you in".
  /// - Returns: `nil` if no secret is stored, or if a change of passcode or enrollment invalidated it.
  /// - Throws: ``SessionError/presence(_:)`` if the user declines, ``SessionError/storage(_:)`` if the user cannot be
  ///   asked.
  @concurrent public func secret(_ reason: String) async throws(SessionError) -> Secret? {
    let (status, secret) = await onOwnThread { [keychain, key] in
      var (status, data) = keychain.copy(key, asking: reason)
      // In place: a copy would leave the secret in memory.
      defer { if data != nil { wipe(&data!) } }
      return (status, data.map { Secret(bytes: $0) })
    }
    if status == .userCanceled || status == .authFailed { throw .presence(.declined) }
    if status != .itemNotFound, let trouble = status.trouble { throw .storage(trouble) }
    return secret
  }

  /// Removes the secret, if there is one.
  @concurrent public func remove() async throws(VaultError) {
    try keychain.delete(key, group: nil).check(accepting: .itemNotFound)
  }
}
