#if JOSE
import HandstampSupport

/// A JSON value to be written, with the members of objects in the given order.
enum OptionsText: Sendable {
  case text(String)
  case integer(Int64)
  case bool(Bool)
  case array([OptionsText])
  case object([(name: String, value: OptionsText)])

  /// `PublicKeyCredentialDescriptorJSON` (WebAuthn Level 3 section 5.8.3).
  init(descriptor passkey: Passkey) {
    var members: [(name: String, value: OptionsText)] = [("type", .text("public-key")), ("id", .text(passkey.id.text))]
    // Without transports clients try all; an empty list could mean none.
    if !passkey.transports.isEmpty { members.append(("transports", .array(passkey.transports.map { .text($0) }))) }
    self = .object(members)
  }

  var json: [UInt8] {
    var json: [UInt8] = []
    append(to: &json)
    return json
  }

  private func append(to json: inout [UInt8]) {
    switch self {
    case .text(let text): JSONString.append(text, to: &json)
    case .integer(let number): json += Array(String(number).utf8)
    case .bool(let value): json += Array((value ? "true" : "false").utf8)
    case .array(let values):
      json.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        value.append(to: &json)
      }
      json.append(UInt8(ascii: "]"))
    case .object(let members):
      json.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        JSONString.append(member.name, to: &json)
        json.append(UInt8(ascii: ":"))
        member.value.append(to: &json)
      }
      json.append(UInt8(ascii: "}"))
    }
  }
}
#endif
