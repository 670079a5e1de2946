import Crypto
public import HandstampCore

/// Names one master key; the part of a token that says which key made its MAC.
public struct KeyID: Identifier {
  /// The most characters of a valid name.
  public static let maxLength = 16

  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// One to sixteen letters, digits, `-` or `_` of ASCII: what fits between the dots of a token.
  public var isValid: Bool {
    (1...KeyID.maxLength).contains(rawValue.utf8.count) && rawValue.utf8.allSatisfy(KeyID.isAllowed)
  }

  private static func isAllowed(_ character: UInt8) -> Bool {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
  }
}

/// Names one installation of a server: its key file and its database carry the same one.
public struct InstanceID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The keys that make tokens genuine. They live outside the database, so that nobody who reads it can forge a token.
///
/// To rotate, add a key and make it ``current``: new tokens carry it, tokens of the others stay good until their key is
/// taken out. A token whose key is missing is an operator's mistake and never ends a session.
public struct MasterKeys: Sendable {
  /// The least bytes of a key.
  public static let minimumKeySize = 32

  /// The key that new tokens are made with.
  public let current: KeyID
  /// All keys that are accepted, `current` among them.
  public let keys: [KeyID: Secret]

  /// Fails when `current` has no key, a name does not fit into a token, or a key is shorter than 32 bytes.
  public init(current: KeyID, keys: [KeyID: Secret]) throws(MasterKeysError) {
    guard keys[current] != nil else { throw .missing(current) }
    for (id, key) in keys {
      guard id.isValid else { throw .badName(id) }
      guard key.count >= MasterKeys.minimumKeySize else { throw .tooShort(id) }
    }
    self.current = current
    self.keys = keys
  }

  /// Draws a fresh key of 32 bytes from `random`, which must be a cryptographic source, such as the system's.
  public init(drawing current: KeyID, from random: inout some RandomNumberGenerator) throws(MasterKeysError) {
    try self.init(current: current, keys: [current: Secret(bytes: randomBytes(32, from: &random))])
  }

  /// Sixteen bytes that only the key of that name makes for that instance, and that tell nothing about it. A database keeps
  /// them, so that it is never opened with another key file. Nothing when there is no such key.
  public func checkValue(of id: KeyID, for instance: InstanceID) -> [UInt8]? {
    keys[id].map { key in
      Derivation.key(
        from: Derivation.extract(key), purpose: "hsc1", context: Array(instance.rawValue.utf8), size: 16
      ).withUnsafeBytes { Array($0) }
    }
  }
}

extension MasterKeys: CustomStringConvertible, CustomReflectable {
  public var description: String { "master keys \(keys.keys.sorted()), current \(current)" }
  public var customMirror: Mirror { Mirror(self, children: ["keys": description]) }
}

/// Why keys cannot be used.
public enum MasterKeysError: Error, Sendable, Hashable {
  /// The key that should be used is not there.
  case missing(KeyID)
  /// The name of a key is empty, too long, or has characters that would break a token.
  case badName(KeyID)
  /// The key has fewer than 32 bytes.
  case tooShort(KeyID)
}
