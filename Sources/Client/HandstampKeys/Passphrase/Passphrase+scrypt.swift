public import Handstamp
import HandstampSupport

#if os(Linux)
import _CryptoExtras
#endif

extension Passphrase {
  /// Creates the passphrase of the vaults in `folder`. Nothing is read or created until first use.
  ///
  /// - Parameter ask: Returns the passphrase as typed, or `nil` if the user declines.
  public convenience init(
    folder: String, clock: any SessionClock = SystemClock(),
    ask: @escaping @Sendable (Question) async throws -> Secret? = { _ in nil }
  ) {
    self.init(folder: folder, cost: .standard, clock: clock, ask: ask)
  }

  /// - Parameter cost: The cost per attempt of a new passphrase; an existing one keeps its own.
  package convenience init(
    folder: String, cost: PassphraseCost, clock: any SessionClock = SystemClock(),
    ask: @escaping @Sendable (Question) async throws -> Secret? = { _ in nil }
  ) {
    self.init(folder: folder, cost: cost, stretch: Scrypt.stretch, clock: clock, ask: ask)
  }
}

/// The key derivation of passphrases (RFC 7914), with a parallelism of 1.
package enum Scrypt {
  package static func stretch(
    _ passphrase: borrowing [UInt8], salt: [UInt8], cost: PassphraseCost
  ) throws(PassphraseError) -> Secret {
    #if os(Linux)
    do {
      let key = try KDF.Scrypt.deriveKey(
        from: copy passphrase, salt: salt, outputByteCount: 32, rounds: 1 << Int(cost.rounds),
        blockSize: Int(PassphraseCost.blockSize), parallelism: 1)
      return key.withUnsafeBytes { Secret(bytes: $0) }
    } catch {
      throw .storage(.unavailable("not enough memory for the passphrase"))
    }
    #else
    throw .storage(.unavailable("passphrases are not supported on this system: use its own presence check"))
    #endif
  }
}
