import Crypto
public import HandstampCore
import HandstampSupport

/// The ID of a master key. A token contains the ID of the key that made its MAC.
public struct KeyID: Identifier {
  /// The maximum length of a valid ID.
  public static let maxLength = 16

  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Whether the ID is 1 to 16 ASCII letters, digits, `-` or `_`, so that it fits between the dots of a token.
  public var isValid: Bool {
    (1...KeyID.maxLength).contains(rawValue.utf8.count)
      && rawValue.utf8.allSatisfy { $0.isAlphanumeric || "-_".utf8.contains($0) }
  }
}

/// The ID of a server installation, stored in both its key file and its database.
public struct InstanceID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The keys that authenticate tokens. They live outside the database, so that reading it does not allow forging tokens.
///
/// To rotate, add a key and make it ``current``: new tokens use it, tokens of the other keys stay valid until their key is
/// retired. A token whose key is missing is an operator's mistake and never ends a session; one whose key was retired is refused.
public struct MasterKeys: Sendable {
  /// The minimum size of a key, in bytes.
  public static let minimumKeySize = 32

  /// The key that new tokens are made with.
  public let current: KeyID
  /// All keys that are accepted, `current` among them.
  public let keys: [KeyID: Secret]
  /// The keys that were retired, perhaps because they had leaked: a token made with one counts as forged, for ever.
  public let retired: Set<KeyID>
  /// The key of ``current``.
  let currentKey: Secret

  /// - Throws: an error whose description names the defect: `current` has no key, an ID is not valid, or a key is shorter than
  ///   32 bytes.
  public init(current: KeyID, keys: [KeyID: Secret], retired: Set<KeyID> = []) throws {
    let keys = keys.filter { !retired.contains($0.key) }
    guard let currentKey = keys[current] else { throw DescribedError("it does not contain the current key \(current)") }
    for (id, key) in keys {
      guard id.isValid else { throw DescribedError("\(id) is not a valid key ID") }
      guard key.count >= MasterKeys.minimumKeySize else { throw DescribedError("the key \(id) is too short") }
    }
    self.current = current
    self.keys = keys
    self.retired = retired
    self.currentKey = currentKey
  }

  /// The keys without `id`, which counts as retired from now on.
  ///
  /// - Throws: an error for the current key.
  public func retiring(_ id: KeyID) throws -> MasterKeys {
    try MasterKeys(current: current, keys: keys, retired: retired.union([id]))
  }

  /// Draws a fresh key of 32 bytes from `random`, which must be a cryptographic source, such as the system's.
  public init(drawing current: KeyID, from random: inout some RandomNumberGenerator) throws {
    try self.init(current: current, keys: [current: Secret(bytes: randomBytes(32, from: &random))])
  }

  /// Returns 16 bytes that only this key yields for this instance and that reveal nothing about it. The database stores them,
  /// so that it is never opened with the wrong key file. Returns `nil` if there is no such key.
  public func checkValue(of id: KeyID, for instance: InstanceID) -> [UInt8]? {
    keys[id].map { key in
      Derivation.key(
        from: Derivation.extract(key), for: .keyCheck, context: Array(instance.rawValue.utf8), size: 16
      ).withUnsafeBytes { Array($0) }
    }
  }
}

extension MasterKeys: CustomStringConvertible, CustomReflectable {
  public var description: String { "master keys \(keys.keys.sorted()), current \(current)" }
  public var customMirror: Mirror { Mirror(self, children: ["keys": description]) }
}
