#if JOSE
/// Writes CBOR, the good and the bad.
enum CBORBytes {
  /// The head of an item, in its shortest form.
  static func head(_ major: UInt8, _ argument: UInt64) -> [UInt8] {
    let size: Int
    switch argument {
    case 0..<24: return [major << 5 | UInt8(argument)]
    case 0..<(1 << 8): size = 0
    case 0..<(1 << 16): size = 1
    case 0..<(1 << 32): size = 2
    default: size = 3
    }
    return head(major, argument, size: size)
  }

  /// The head of an item whose argument has 2 to the power of `size` bytes.
  static func head(_ major: UInt8, _ argument: UInt64, size: Int) -> [UInt8] {
    [major << 5 | UInt8(24 + size)]
      + (0..<(1 << size)).reversed().map { UInt8(truncatingIfNeeded: argument >> UInt64(8 * $0)) }
  }

  static func integer(_ number: Int64) -> [UInt8] {
    number < 0 ? head(1, UInt64(~number)) : head(0, UInt64(number))
  }

  static func bytes(_ bytes: [UInt8]) -> [UInt8] { head(2, UInt64(bytes.count)) + bytes }
  static func text(_ text: String) -> [UInt8] { head(3, UInt64(text.utf8.count)) + Array(text.utf8) }
  static func array(_ items: [[UInt8]]) -> [UInt8] { head(4, UInt64(items.count)) + items.flatMap { $0 } }

  /// The keys and values are encoded already.
  static func map(_ members: [([UInt8], [UInt8])]) -> [UInt8] {
    head(5, UInt64(members.count)) + members.flatMap { $0.0 + $0.1 }
  }

  /// A `COSE_Key`.
  static func key(_ parameters: [(Int64, [UInt8])]) -> [UInt8] { map(parameters.map { (integer($0.0), $0.1) }) }
}
#endif
