#if JOSE
import Crypto
import CryptoExtras
import Foundation
import Testing

@testable import HandstampWebAuthn

@Suite(.timeLimit(.minutes(10))) struct `The public key of a passkey` {
  /// The key with some parameters changed; `nil` removes one.
  private func key(_ algorithm: COSEAlgorithm, _ changes: [Int64: [UInt8]?]) throws -> [UInt8] {
    var parameters = try SoftKey(algorithm).parameters
    for (label, value) in changes.sorted(by: { $0.key < $1.key }) {
      parameters.removeAll { $0.0 == label }
      if let value { parameters.append((label, value)) }
    }
    return CBORBytes.key(parameters)
  }

  private func expect(
    _ fault: COSEKey.FormatError, _ algorithm: COSEAlgorithm, _ changes: [Int64: [UInt8]?],
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let bytes = try key(algorithm, changes)
    #expect(throws: fault, sourceLocation: location) { try COSEKey(bytes) }
  }

  @Test(arguments: COSEAlgorithm.allCases)
  func `is kept as it came, and verifies its signatures`(_ algorithm: COSEAlgorithm) throws {
    let soft = try SoftKey(algorithm)
    let key = try COSEKey(try soft.cose)
    #expect(key.algorithm == algorithm)
    #expect(try key.bytes == soft.cose)
    let signature = try soft.signature(of: [1, 2, 3])
    #expect(key.isSignature(signature, of: [1, 2, 3]))
    #expect(!key.isSignature(signature, of: [1, 2]))
    #expect(!key.isSignature(signature + [0], of: [1, 2, 3]))
    #expect(!key.isSignature(Array(signature.dropLast()), of: [1, 2, 3]))
    #expect(!key.isSignature([], of: [1, 2, 3]))
    for index in signature.indices {
      var changed = signature
      changed[index] ^= 1
      #expect(!key.isSignature(changed, of: [1, 2, 3]))
    }
  }

  @Test func `of the standard is read`() throws {
    // WebAuthn Level 2 section 6.5.1.1.
    let bytes: [UInt8] = [
      0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20, 0x65, 0xED, 0xA5, 0xA1, 0x25, 0x77, 0xC2, 0xBA, 0xE8,
      0x29, 0x43, 0x7F, 0xE3, 0x38, 0x70, 0x1A, 0x10, 0xAA, 0xA3, 0x75, 0xE1, 0xBB, 0x5B, 0x5D, 0xE1, 0x08, 0xDE, 0x43,
      0x9C, 0x08, 0x55, 0x1D, 0x22, 0x58, 0x20, 0x1E, 0x52, 0xED, 0x75, 0x70, 0x11, 0x63, 0xF7, 0xF9, 0xE4, 0x0D, 0xDF,
      0x9F, 0x34, 0x1B, 0x3D, 0xC9, 0xBA, 0x86, 0x0A, 0xF7, 0xE0, 0xCA, 0x7C, 0xA7, 0xE9, 0xEE, 0xCD, 0x00, 0x84, 0xD1,
      0x9C,
    ]
    #expect(try COSEKey(bytes).algorithm == .es256)
  }

  @Test func `counts only with signatures of its algorithm`() throws {
    // The raw form is JOSE's.
    guard case .es256(let key) = try SoftKey(.es256) else { return }
    let cose = try COSEKey(try SoftKey.es256(key).cose)
    #expect(!cose.isSignature(Array(try key.signature(for: [1 as UInt8]).rawRepresentation), of: [1]))
    guard case .rs256(let rsa) = try SoftKey(.rs256) else { return }
    let other = try COSEKey(try SoftKey.rs256(rsa).cose)
    #expect(!other.isSignature(Array(try rsa.signature(for: [1 as UInt8], padding: .PSS).rawRepresentation), of: [1]))
    let sha384 = try rsa.signature(for: SHA384.hash(data: [1 as UInt8]), padding: .insecurePKCS1v1_5)
    #expect(!other.isSignature(Array(sha384.rawRepresentation), of: [1]))
  }

  @Test func `is CBOR`() {
    #expect(throws: COSEKey.FormatError.malformed(.truncated)) { try COSEKey([]) }
    #expect(throws: COSEKey.FormatError.malformed(.trailingBytes)) { try COSEKey(try SoftKey(.es256).cose + [0]) }
    #expect(throws: COSEKey.FormatError.incomplete) { try COSEKey([0x80]) }
    #expect(throws: COSEKey.FormatError.incomplete) { try COSEKey([0xA0]) }
  }

  @Test(arguments: COSEAlgorithm.allCases)
  func `has all parameters`(_ algorithm: COSEAlgorithm) throws {
    for (label, _) in try SoftKey(algorithm).parameters {
      try expect(.incomplete, algorithm, [label: nil])
      try expect(.incomplete, algorithm, [label: CBORBytes.text("x")])
    }
  }

  @Test func `is of an algorithm that was offered`() throws {
    // EdDSA, ES384, ES512, PS256, RS1, HS256, ES256K, none.
    for algorithm: Int64 in [-8, -35, -36, -37, -65535, 5, -47, 0] {
      try expect(.unsupportedAlgorithm(algorithm), .es256, [3: CBORBytes.integer(algorithm)])
      try expect(.unsupportedAlgorithm(algorithm), .rs256, [3: CBORBytes.integer(algorithm)])
    }
  }

  @Test func `is of its algorithm's type`() throws {
    try expect(.wrongKeyType, .es256, [3: CBORBytes.integer(-257)])
    try expect(.wrongKeyType, .rs256, [3: CBORBytes.integer(-7)])
    try expect(.wrongKeyType, .es256, [1: CBORBytes.integer(1)])
    try expect(.wrongKeyType, .rs256, [1: CBORBytes.integer(4)])
  }

  @Test func `has no other parameters`() throws {
    for label: Int64 in [2, 4, 5, -4, -12] {
      try expect(.unexpectedParameter, .es256, [label: CBORBytes.bytes([1])])
      try expect(.unexpectedParameter, .rs256, [label: CBORBytes.bytes([1])])
    }
  }

  @Test func `is a point of P-256`() throws {
    try expect(.unsupportedCurve, .es256, [-1: CBORBytes.integer(2)])
    try expect(.unsupportedCurve, .es256, [-1: CBORBytes.integer(6)])
    for count in [0, 31, 33, 65] {
      try expect(.invalidPoint, .es256, [-2: CBORBytes.bytes([UInt8](repeating: 1, count: count))])
      try expect(.invalidPoint, .es256, [-3: CBORBytes.bytes([UInt8](repeating: 1, count: count))])
    }
    // Together they have the right number of bytes.
    try expect(
      .invalidPoint, .es256,
      [
        -2: CBORBytes.bytes([UInt8](repeating: 1, count: 31)), -3: CBORBytes.bytes([UInt8](repeating: 1, count: 33)),
      ])
    // Not on the curve; (0, 0); coordinates beyond the field.
    try expect(.invalidPoint, .es256, [-3: CBORBytes.bytes([UInt8](repeating: 1, count: 32))])
    for byte: UInt8 in [0, 255] {
      let coordinate = CBORBytes.bytes([UInt8](repeating: byte, count: 32))
      try expect(.invalidPoint, .es256, [-2: coordinate, -3: coordinate])
    }
    // A compressed point.
    try expect(.incomplete, .es256, [-3: [0xF5]])
  }

  @Test func `has an RSA modulus of 2048 to 8192 bits`() throws {
    func modulus(_ bits: Int) -> [UInt8] {
      var bytes = [UInt8](repeating: 0x55, count: (bits + 7) / 8)
      bytes[0] = 1 << UInt8((bits - 1) % 8)
      return bytes
    }
    for bits in [2048, 2049, 3072, 4096, 8192] {
      let bytes = try key(.rs256, [-1: CBORBytes.bytes(modulus(bits))])
      #expect(throws: Never.self, "\(bits)") { try COSEKey(bytes) }
    }
    for bits in [8, 1024, 2040, 2047, 8193, 16384] {
      try expect(.invalidModulus, .rs256, [-1: CBORBytes.bytes(modulus(bits))])
    }
    try expect(.invalidModulus, .rs256, [-1: CBORBytes.bytes([])])
    // Leading zeros, and an even number.
    try expect(.invalidModulus, .rs256, [-1: CBORBytes.bytes([0] + modulus(2048))])
    try expect(.invalidModulus, .rs256, [-1: CBORBytes.bytes(Array(modulus(2048).dropLast()) + [0x54])])
  }

  @Test func `has an odd RSA exponent between 2^16 and 2^32`() throws {
    for exponent in [[1, 0, 1], [1, 0, 3], [255, 255, 255, 255]] as [[UInt8]] {
      let bytes = try key(.rs256, [-2: CBORBytes.bytes(exponent)])
      #expect(throws: Never.self) { try COSEKey(bytes) }
    }
    for exponent in [
      [], [1], [3], [17], [255, 255], [0, 255, 255], [1, 0, 0], [1, 0, 2], [0, 1, 0, 1], [1, 0, 0, 0, 1],
      [UInt8](repeating: 255, count: 256),
    ] as [[UInt8]] {
      try expect(.invalidExponent, .rs256, [-2: CBORBytes.bytes(exponent)])
    }
  }

  @Test func `is equal to one with the same bytes`() throws {
    let (one, other) = (try SoftKey(.es256).cose, try SoftKey(.es256).cose)
    #expect(try COSEKey(one) == COSEKey(one))
    #expect(try COSEKey(one) != COSEKey(other))
    #expect(try Set([COSEKey(one), COSEKey(one), COSEKey(other)]).count == 2)
  }
}
#endif
