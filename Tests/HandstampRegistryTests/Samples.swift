import HandstampCore
import HandstampRegistry

/// SplitMix64: the same seed gives the same numbers.
struct Seeded: RandomNumberGenerator {
  var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

let start = UnixTime(seconds: 1_800_000_000)

func after(_ duration: Duration) -> UnixTime { start.advanced(by: duration) }

func session(_ seed: UInt64) -> SessionBytes {
  var random = Seeded(seed)
  return SessionBytes(from: &random)
}

func masterKeys(_ names: String..., current: String? = nil, seed: UInt64 = 1) throws -> MasterKeys {
  var random = Seeded(seed)
  var keys: [KeyID: Secret] = [:]
  for name in names {
    keys[KeyID(name)] = Secret(bytes: (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
  }
  return try MasterKeys(current: KeyID(current ?? names[0]), keys: keys)
}

func text(_ token: RefreshToken) -> String { token.secret.withExposed { $0 } }
func text(_ handle: RevocationHandle) -> String { handle.secret.withExposed { $0 } }

func rotationKey(_ number: UInt64) -> RotationKey {
  var random = Seeded(number)
  return RotationKey(from: &random)
}

/// The key with that number, as sent over the wire.
func key(_ number: UInt64) -> Secret { rotationKey(number).wireText }
func mark(_ number: UInt64) -> KeyMark { KeyMark(of: rotationKey(number)) }
