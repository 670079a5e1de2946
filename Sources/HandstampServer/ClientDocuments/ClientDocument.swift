#if Server
import HandstampSupport

/// The parts of a client's metadata document that the server uses (draft 02 section 4, RFC 7591 section 2).
struct ClientDocument: Sendable, Hashable {
  /// The name that the client gives itself; anyone can choose any.
  let name: String?
  let redirectURIs: [String]

  /// - Throws: the reason for which the document is not valid.
  init(_ body: [UInt8], of url: ClientURL) throws(DescribedError) {
    guard case .object(let members)? = JSONValue(body) else { throw DescribedError("it is not a JSON object") }
    guard let id = members["client_id"]?.string, id.utf8.elementsEqual(url.text.utf8) else {
      throw DescribedError("its client_id is not its URL")
    }
    guard members["client_secret"] == nil, members["client_secret_expires_at"] == nil,
      !ClientDocument.hasSecretKey(members["jwks"])
    else { throw DescribedError("it contains a secret") }
    let method = members["token_endpoint_auth_method"]
    guard method == nil || method == .string("none") else {
      throw DescribedError("its token_endpoint_auth_method is not none")
    }
    for (name, needed) in [("grant_types", "authorization_code"), ("response_types", "code")] {
      guard let value = members[name] else { continue }
      guard case .array(let values) = value, values.contains(.string(needed)) else {
        throw DescribedError("its \(name) lack \(needed)")
      }
    }
    guard case .array(let values)? = members["redirect_uris"], !values.isEmpty else {
      throw DescribedError("its redirect_uris are missing")
    }
    var uris: [String] = []
    for value in values {
      guard let uri = value.string, ConfiguredClient.isSafe(uri) else {
        throw DescribedError("one of its redirect_uris is not allowed")
      }
      uris.append(uri)
    }
    redirectURIs = uris
    name = members["client_name"]?.string.flatMap(ClientDocument.shown)
  }

  /// Returns a name without characters that could make it look like another, or hide the host that follows it.
  private static func shown(_ name: String) -> String? {
    let plain = name.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
      default: scalar != "(" && scalar != ")"
      }
    }
    let text = String(String.UnicodeScalarView(plain)).prefix(64).trimmingPrefix { $0.isWhitespace }
    return text.isEmpty ? nil : String(text)
  }

  /// Whether a key has its private or symmetric part.
  private static func hasSecretKey(_ set: JSONValue?) -> Bool {
    guard case .array(let keys)? = set?["keys"] else { return false }
    return keys.contains { $0["d"] != nil || $0["k"] != nil }
  }
}
#endif
