#if JOSE
import Crypto
import Foundation
import HandstampSupport

@testable import HandstampWebAuthn

/// Client data before they are written. `nil` leaves a member out; `others` are JSON text.
struct ClientDataDraft {
  var type: String?
  var challenge: String?
  var origin: String?
  var others = #""crossOrigin":false"#
  /// Instead of everything else.
  var whole: [UInt8]?

  var bytes: [UInt8] {
    if let whole { return whole }
    var members = [("type", type), ("challenge", challenge), ("origin", origin)].compactMap { name, value in
      value.map { "\"\(name)\":\(JSONString.quoted($0))" }
    }
    if !others.isEmpty { members.append(others) }
    return Array("{\(members.joined(separator: ","))}".utf8)
  }
}

struct AuthenticatorDataDraft {
  var rpID: String
  var flags: AuthenticatorFlags
  var signCount: UInt32
  var aaguid = [UInt8](repeating: 9, count: 16)
  var id: [UInt8] = []
  var key: [UInt8] = []
  /// After everything else.
  var rest: [UInt8] = []

  var bytes: [UInt8] {
    var bytes = Array(SHA256.hash(data: Array(rpID.utf8)))
    bytes.append(flags.rawValue)
    bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: signCount >> $0) }
    if flags.contains(.attestedCredential) {
      bytes += aaguid + [UInt8(id.count >> 8), UInt8(id.count & 255)] + id + key
    }
    return bytes + rest
  }
}

struct RegistrationDraft {
  var clientData: ClientDataDraft
  var data: AuthenticatorDataDraft
  var format = "none"
  var statement = CBORBytes.map([])
  /// Instead of the attestation object that the parts make.
  var attestation: [UInt8]?
  var id: [UInt8]
  /// JSON text, before the members of the response.
  var others = #""transports":["internal","hybrid"]"#
  var envelope = Envelope()

  var json: [UInt8] {
    let object =
      attestation
      ?? CBORBytes.map([
        (CBORBytes.text("fmt"), CBORBytes.text(format)), (CBORBytes.text("attStmt"), statement),
        (CBORBytes.text("authData"), CBORBytes.bytes(data.bytes)),
      ])
    return envelope.json(
      id: id, response: [("clientDataJSON", clientData.bytes), ("attestationObject", object)], others: others)
  }
}

struct AssertionDraft {
  var clientData: ClientDataDraft
  var data: AuthenticatorDataDraft
  var key: SoftKey
  var id: [UInt8]
  var userHandle: [UInt8]?
  /// Instead of the key's.
  var signature: [UInt8]?
  /// JSON text, before the members of the response.
  var others = ""
  var envelope = Envelope()

  /// The bytes that the key signs.
  var message: [UInt8] { data.bytes + Array(SHA256.hash(data: clientData.bytes)) }

  var json: [UInt8] {
    get throws {
      var members = [
        ("clientDataJSON", clientData.bytes), ("authenticatorData", data.bytes),
        ("signature", try signature ?? key.signature(of: message)),
      ]
      if let userHandle { members.append(("userHandle", userHandle)) }
      return envelope.json(id: id, response: members, others: others)
    }
  }
}

/// The outer object of a response. `nil` leaves a member out.
struct Envelope {
  var type: String? = "public-key"
  /// JSON text, instead of the ID.
  var id, rawID: String?
  /// Members of the response that are left out.
  var without: Set<String> = []
  /// JSON text, instead of the whole response.
  var response: String?

  func json(id bytes: [UInt8], response members: [(String, [UInt8])], others: String) -> [UInt8] {
    let own = JSONString.quoted(Base64URL.encode(bytes))
    var inner = members.filter { !without.contains($0.0) }.map { "\"\($0.0)\":\"\(Base64URL.encode($0.1))\"" }
    if !others.isEmpty { inner.insert(others, at: 0) }
    var outer = [("id", id ?? own), ("rawId", rawID ?? own)]
    outer.append(("response", response ?? "{\(inner.joined(separator: ","))}"))
    if let type { outer.append(("type", JSONString.quoted(type))) }
    outer.append(("clientExtensionResults", "{}"))
    let text = outer.filter { !without.contains($0.0) }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")
    return Array("{\(text)}".utf8)
  }
}
#endif
