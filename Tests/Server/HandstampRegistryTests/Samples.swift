import HandstampCore
import HandstampRegistry
import HandstampTesting

let start = UnixTime(seconds: 1_800_000_000)

func after(_ duration: Duration) -> UnixTime { start.advanced(by: duration) }

func session(_ seed: UInt64) -> SessionBytes {
  var random = SplitMix64(state: seed)
  return SessionBytes(from: &random)
}

func masterKeys(_ names: String..., current: String? = nil, seed: UInt64 = 1) throws -> MasterKeys {
  var random = SplitMix64(state: seed)
  var keys: [KeyID: Secret] = [:]
  for name in names {
    keys[KeyID(name)] = Secret(bytes: (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
  }
  return try MasterKeys(current: KeyID(current ?? names[0]), keys: keys)
}

func text(_ token: RefreshToken) -> String { token.secret.withExposed { $0 } }
func text(_ handle: RevocationHandle) -> String { handle.secret.withExposed { $0 } }

func rotationKey(_ number: UInt64) -> RotationKey {
  var random = SplitMix64(state: number)
  return RotationKey(from: &random)
}

/// The key with that number, as sent over the wire.
func key(_ number: UInt64) -> Secret { rotationKey(number).wireText }
func mark(_ number: UInt64) -> KeyMark { KeyMark(of: rotationKey(number)) }
