import HandstampSupport

extension [UInt8] {
  /// The fields of a form (RFC 6749 appendix B). Every byte that is not unreserved is escaped.
  package init(form fields: [(name: String, value: Secret)]) {
    self = []
    for (name, value) in fields {
      if !isEmpty { append(UInt8(ascii: "&")) }
      self += Array(name.utf8) + [UInt8(ascii: "=")]
      value.withExposedBytes {
        for byte in $0 {
          if byte.isUnreserved { append(byte) } else { PercentEncoding.escape(byte, into: &self) }
        }
      }
    }
  }
}
