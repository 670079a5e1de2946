public import HandstampCore
import HandstampSupport

/// A vault key sealed with a ``Passphrase``, as a store for ``VaultKey/managed(by:)``.
///
/// For programs that let their users choose where to keep the key. If yours always has a passphrase, use
/// ``VaultKey/passphrase(_:)``.
public final class PassphraseKey: VaultKeyStore {
  private let passphrase: Passphrase
  private let reason: String
  private let new: Secret?
  /// Serializes the questions: the user is never asked twice at once.
  private let last = Locked<Task<Result<Secret?, VaultError>, Never>?>(nil)

  /// - Parameters:
  ///   - passphrase: The passphrase of the vaults' folder; it asks the user when the key is needed.
  ///   - reason: The reason shown to the user.
  ///   - new: The passphrase that seals a key stored here.
  public init(_ passphrase: Passphrase, reason: String, new: Secret? = nil) {
    self.passphrase = passphrase
    self.reason = reason
    self.new = new
  }

  /// - Throws: ``VaultError/locked`` if no passphrase or a wrong one is entered.
  @concurrent public func load() async throws(VaultError) -> Secret? {
    let turn = last.withLock { last in
      let turn = Task { [previous = last] in
        _ = await previous?.value
        return await self.opened()
      }
      last = turn
      return turn
    }
    return try await turn.value.get()
  }

  private func opened() async -> Result<Secret?, VaultError> {
    do throws(VaultError) {
      guard try passphrase.isStored() else { return .success(nil) }
    } catch { return .failure(error) }
    if let key = passphrase.keyBytes { return .success(key) }
    do throws(PassphraseError) {
      switch try await passphrase.unlock(asking: reason) {
      case nil: return .success(passphrase.keyBytes)
      case .lockedOut: return .failure(.unavailable("too many wrong passphrases; wait before the next attempt"))
      case .unavailable(let text): return .failure(.unavailable(text))
      default: return .failure(.locked)
      }
    } catch {
      switch error {
      case .storage(let error): return .failure(error)
      case .damaged: return .failure(.wrongKey("the file of the sealed key is damaged"))
      default: return .failure(.unavailable("the passphrase cannot be checked: \(error)"))
      }
    }
  }

  /// - Throws: ``VaultError/passphrase(_:)`` if there is no new passphrase, or it is too short or unusable;
  ///   ``VaultError/unavailable(_:)`` if another process has just sealed a key: the next attempt reads it.
  @concurrent public func store(_ key: Secret) async throws(VaultError) {
    guard let new else { throw .passphrase("no passphrase was given to seal the key with") }
    do throws(PassphraseError) { try await passphrase.seal(key, with: new) } catch {
      switch error {
      case .tooShort(let minimum): throw .passphrase("a passphrase has at least \(minimum) characters")
      case .unusable: throw .passphrase("a passphrase has no control characters, and at most 1024 bytes")
      // Another process was faster: the next attempt reads its key.
      case .alreadySet: throw .unavailable("another process has just sealed a key with a passphrase")
      case .storage(let trouble): throw trouble
      default: throw .unavailable("the key cannot be sealed: \(error)")
      }
    }
  }
}

extension PassphraseKey: VaultKeyCopy {
  @concurrent package func content() async throws(VaultError) -> VaultKeyContent { try passphrase.content() }

  @concurrent package func remove(_ permission: borrowing VaultKeyRemoval) async throws(VaultError) {
    try passphrase.removeSealed(permission)
  }
}
