import HandstampSupport

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
    if byte.isUnreserved { bytes.append(byte) } else { PercentEncoding.escape(byte, into: &bytes) }
  }
}
