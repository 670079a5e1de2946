public import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A vaults' key that is sealed with a ``Passphrase``, as a store that ``VaultKeyPlace`` can move the key into and back out of.
///
/// For programs that let their user choose where the key is. One that always has a passphrase takes
/// ``VaultKey/passphrase(_:)``.
public final class PassphraseKey: VaultKeyStore {
  private let passphrase: Passphrase
  private let reason: String
  private let new: Secret?
  /// Nobody is asked twice at once.
  private let last = Locked<Task<Result<Secret?, VaultTrouble>, Never>?>(nil)

  /// - Parameters:
  ///   - passphrase: of the vaults' folder; it asks when the key is needed.
  ///   - reason: what is said to the person then.
  ///   - new: what the key is sealed with when it is stored here.
  public init(_ passphrase: Passphrase, reason: String, new: Secret? = nil) {
    self.passphrase = passphrase
    self.reason = reason
    self.new = new
  }

  /// - Throws: ``HandstampCore/VaultTrouble/locked`` when the passphrase is not given, or is the wrong one.
  @concurrent public func load() async throws(VaultTrouble) -> Secret? {
    let turn = last.withLock { last in
      let turn = Task { [former = last] in
        _ = await former?.value
        return await self.opened()
      }
      last = turn
      return turn
    }
    return try await turn.value.get()
  }

  private func opened() async -> Result<Secret?, VaultTrouble> {
    do throws(VaultTrouble) {
      guard try passphrase.isStored() else { return .success(nil) }
    } catch { return .failure(error) }
    if let key = passphrase.keyBytes { return .success(key) }
    do throws(PresenceError) { try await passphrase.confirm(reason) } catch {
      switch error {
      case .lockedOut: return .failure(.unavailable("too many passphrases were wrong; wait before the next"))
      case .unavailable(let why): return .failure(.unavailable(why))
      default: return .failure(.locked)
      }
    }
    return .success(passphrase.keyBytes)
  }

  /// - Throws: ``HandstampCore/VaultTrouble/unavailable(_:)`` without a new passphrase, and for one that is too short.
  @concurrent public func store(_ key: Secret) async throws(VaultTrouble) {
    guard let new else { throw .unavailable("no passphrase was given to seal the key with") }
    do throws(PassphraseError) { try await passphrase.seal(key, with: new) } catch {
      switch error {
      case .tooShort(let minimum): throw .unavailable("a passphrase has at least \(minimum) characters")
      case .unusable: throw .unavailable("a passphrase has no control characters, and at most 1024 bytes")
      case .alreadySet: throw .unavailable("the key is sealed with a passphrase already")
      case .storage(let trouble): throw trouble
      default: throw .unavailable("the key cannot be sealed: \(error)")
      }
    }
  }

  /// Takes the sealed key away, once the key is somewhere else.
  @concurrent public func remove() async throws(VaultTrouble) {
    do throws(PassphraseError) { try await passphrase.removeSealed() } catch {
      guard case .storage(let trouble) = error else { throw .unavailable("the sealed key cannot be removed") }
      throw trouble
    }
  }
}
