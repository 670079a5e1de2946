/// A form (RFC 6749 appendix B). Every byte that is not unreserved is escaped.
package struct FormBody {
  package private(set) var bytes: [UInt8] = []

  package init(_ fields: [(name: String, value: Secret)]) {
    for (name, value) in fields {
      if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
      bytes += Array(name.utf8) + [UInt8(ascii: "=")]
      value.withExposedBytes { for byte in $0 { append(byte) } }
    }
  }

  private mutating func append(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      bytes.append(byte)
    default:
      let digits = Array("0123456789ABCDEF".utf8)
      bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
  }
}
