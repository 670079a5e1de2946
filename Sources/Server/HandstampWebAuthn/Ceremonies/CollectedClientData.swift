#if JOSE
import HandstampSupport

/// The browser's statement about the ceremony, which the authenticator signs (WebAuthn Level 2 section 5.8.1).
struct CollectedClientData: Sendable, Hashable {
  /// The ceremony.
  enum Kind: String, Sendable, Hashable {
    case create = "webauthn.create"
    case get = "webauthn.get"
  }

  /// `type`: a ``Kind``, or another text.
  let type: String
  /// In base64url.
  let challenge: String
  let origin: String
  /// Whether an embedded page of another origin asked; older browsers do not say.
  let crossOrigin: Bool
  /// The origin of the page around it (WebAuthn Level 3 section 5.8.1).
  let topOrigin: String?
  /// Whether the browser's connection used token binding (RFC 8471).
  let usesTokenBinding: Bool

  /// Reads the JSON text strictly, because all of it is trusted once the signature is verified. Unknown members are ignored: browsers
  /// add some on purpose (section 5.8.1).
  ///
  /// - Returns: `nil` for a text that is not JSON, repeats a name, lacks a member, or has one of another type.
  init?(_ bytes: [UInt8]) {
    // "Any leading byte order mark MUST be stripped" (section 7.1 step 5).
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    guard let json = JSONValue(text), let type = json["type"]?.string, let challenge = json["challenge"]?.string,
      let origin = json["origin"]?.string
    else { return nil }
    switch json["crossOrigin"] {
    case nil: crossOrigin = false
    case .bool(let isCross): crossOrigin = isCross
    default: return nil
    }
    let topOrigin = json["topOrigin"]
    guard topOrigin == nil || topOrigin?.string != nil else { return nil }
    self.type = type
    self.challenge = challenge
    self.origin = origin
    self.topOrigin = topOrigin?.string
    usesTokenBinding = json["tokenBinding"]?["status"]?.string == "present"
  }
}
#endif
