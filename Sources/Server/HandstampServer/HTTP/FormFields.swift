#if Server
import HandstampCore
import HandstampSupport

/// The fields of a form (`application/x-www-form-urlencoded`), as required by OAuth.
struct FormFields: CustomReflectable {
  /// Passwords, codes and tokens are among the values.
  var customMirror: Mirror { Mirror(self, children: ["names": fields.map(\.name)], displayStyle: .struct) }
  private var fields: [(name: String, value: String)] = []

  /// Parses a whole body. A parameter without a value counts as missing (RFC 6749 section 3.2).
  ///
  /// - Throws: ``OAuthError/parameterRepeated`` for one other than `resource`, or ``OAuthError/formMalformed`` if an escape is
  ///   invalid, the text is not UTF-8, or there are too many.
  init(_ bytes: some Collection<UInt8>) throws(OAuthError) {
    // No more parts than fields, so that a large body of them costs no more than a small one.
    for part in Array(bytes).split(separator: UInt8(ascii: "&"), maxSplits: FormFields.limit) {
      guard fields.count < FormFields.limit else { throw .formMalformed }
      let name: String
      let value: String
      if let equals = part.firstIndex(of: UInt8(ascii: "=")) {
        name = try FormFields.decoded(part[..<equals])
        value = try FormFields.decoded(part[(equals + 1)...])
      } else {
        name = try FormFields.decoded(part)
        value = ""
      }
      guard name == "resource" || !fields.contains(where: { $0.name == name }) else { throw .parameterRepeated }
      fields.append((name, value))
    }
  }

  /// Maximum number of fields, more than any honest client sends. Bounds the search for repeated names.
  static let limit = 64

  subscript(name: String) -> String? {
    fields.first { $0.name == name && !$0.value.isEmpty }?.value
  }

  /// The values of `resource`, the only parameter that may be repeated (RFC 8707 section 2).
  var resources: [String] { fields.filter { $0.name == "resource" && !$0.value.isEmpty }.map(\.value) }

  /// The fields as a form again, without those of `left`.
  func encoded(leaving left: Set<String>) -> String {
    fields.filter { !left.contains($0.name) }
      .map { PercentEncoding.encode($0.name) + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
  }

  /// The fields of `kept` as a form again.
  func encoded(keeping kept: Set<String>) -> String {
    encoded(leaving: Set(fields.map(\.name)).subtracting(kept))
  }

  private static func decoded(_ text: ArraySlice<UInt8>) throws(OAuthError) -> String {
    guard let bytes = PercentEncoding.decode(Array(text), plusIsSpace: true), let string = String(utf8Bytes: bytes)
    else { throw .formMalformed }
    return string
  }
}
#endif
