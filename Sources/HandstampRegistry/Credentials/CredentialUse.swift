/// A passkey or a recovery code that a user has signed in with, to be recorded in the write that begins the session: it counts only
/// if it was not used at the same time, or removed.
public struct CredentialUse: Sendable, Hashable {
  public let account: AccountRecord
  let changes: [RegistryChange]
}
