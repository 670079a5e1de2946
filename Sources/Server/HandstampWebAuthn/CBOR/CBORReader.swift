#if JOSE
import HandstampSupport

/// Reads data items of CBOR one after the other.
///
/// Memory and time are proportional to the number of bytes: a length that announces more than there is, is refused before
/// anything is allocated.
struct CBORReader {
  /// Maximum depth of arrays and maps. CTAP2 allows 4; attestation statements of future formats are given some more.
  static let deepest = 8

  /// The bytes that were not read yet.
  private(set) var rest: ArraySlice<UInt8>
  private var depth = 0

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Reads the next item.
  ///
  /// - Throws: every ``CBORError`` but ``CBORError/trailingBytes``. What was read of the item is not given back.
  mutating func value() throws(CBORError) -> CBORValue {
    let (major, argument) = try head()
    switch major {
    case 0:
      guard let number = Int64(exactly: argument) else { throw .integerOutOfRange }
      return .integer(number)
    case 1:
      // -1 - argument (RFC 8949 section 3.1) is the complement.
      guard let number = Int64(exactly: argument) else { throw .integerOutOfRange }
      return .integer(~number)
    case 2: return .bytes(try take(argument))
    case 3:
      guard let text = String(utf8Bytes: try take(argument)) else { throw .notUTF8 }
      return .text(text)
    case 4: return try nested { reader throws(CBORError) in try reader.array(argument) }
    case 5: return try nested { reader throws(CBORError) in try reader.map(argument) }
    case 7:
      switch argument {
      case 20: return .bool(false)
      case 21: return .bool(true)
      case 22: return .null
      default: throw .unsupported
      }
    default: throw .unsupported
    }
  }

  /// Reads the head of an item: its major type and its argument (RFC 8949 section 3).
  private mutating func head() throws(CBORError) -> (major: UInt8, argument: UInt64) {
    guard let first = rest.popFirst() else { throw .truncated }
    let (major, low) = (first >> 5, first & 31)
    let (size, least): (UInt64, UInt64)
    switch low {
    case 0..<24: return (major, UInt64(low))
    // In major type 7 these are simple values and floating-point numbers.
    case 24...27 where major == 7: throw .unsupported
    case 24: (size, least) = (1, 24)
    case 25: (size, least) = (2, 1 << 8)
    case 26: (size, least) = (4, 1 << 16)
    case 27: (size, least) = (8, 1 << 32)
    case 31: throw .indefiniteLength
    default: throw .unsupported
    }
    let argument = try take(size).reduce(0) { $0 << 8 | UInt64($1) }
    guard argument >= least else { throw .notShortest }
    return (major, argument)
  }

  private mutating func take(_ count: UInt64) throws(CBORError) -> ArraySlice<UInt8> {
    guard let count = Int(exactly: count), count <= rest.count else { throw .truncated }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  private mutating func nested(
    _ body: (inout CBORReader) throws(CBORError) -> CBORValue
  ) throws(CBORError) -> CBORValue {
    guard depth < CBORReader.deepest else { throw .tooDeep }
    depth += 1
    defer { depth -= 1 }
    return try body(&self)
  }

  private mutating func array(_ count: UInt64) throws(CBORError) -> CBORValue {
    // An item is at least one byte.
    guard count <= rest.count else { throw .truncated }
    var values: [CBORValue] = []
    for _ in 0..<count { values.append(try value()) }
    return .array(values)
  }

  private mutating func map(_ count: UInt64) throws(CBORError) -> CBORValue {
    guard count <= rest.count / 2 else { throw .truncated }
    var members: [CBORValue: CBORValue] = [:]
    for _ in 0..<count {
      let key = try value()
      guard key.integer != nil || key.text != nil else { throw .unsupportedKey }
      guard members.updateValue(try value(), forKey: key) == nil else { throw .repeatedKey }
    }
    return .map(members)
  }
}
#endif
