#if Server
import HandstampSupport

/// The parts of a client's metadata document that the server uses (draft 02 section 4), and how it reads the same of a registration (RFC
/// 7591 section 2).
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
    try ClientDocument.checkFlow(members)
    redirectURIs = try ClientDocument.redirects(in: members, where: ConfiguredClient.isSafe)
    name = ClientDocument.name(in: members, upTo: 64)
  }

  /// Refuses a client that does not use the authorization code flow.
  static func checkFlow(_ members: [String: JSONValue]) throws(DescribedError) {
    for (name, needed) in [("grant_types", "authorization_code"), ("response_types", "code")] {
      guard let value = members[name] else { continue }
      guard case .array(let values) = value, values.contains(.string(needed)) else {
        throw DescribedError("its \(name) lack \(needed)")
      }
    }
  }

  static func redirects(
    in members: [String: JSONValue], where isAllowed: (String) -> Bool
  ) throws(DescribedError) -> [String] {
    guard case .array(let values)? = members["redirect_uris"], !values.isEmpty else {
      throw DescribedError("its redirect_uris are missing")
    }
    let uris = values.compactMap(\.string).filter(isAllowed)
    guard uris.count == values.count else { throw DescribedError("one of its redirect_uris is not allowed") }
    return uris
  }

  /// Returns the name without characters that are not visible, could make it look like another, or hide what follows it; `nil` if
  /// nothing is left.
  ///
  /// - Parameter most: the number of scalars, so that marks cannot be piled up on a character.
  static func name(in members: [String: JSONValue], upTo most: Int) -> String? {
    let visible = (members["client_name"]?.string ?? "").unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
      default: scalar != "(" && scalar != ")" && !scalar.properties.isDefaultIgnorableCodePoint && scalar != "\u{2800}"
      }
    }
    let text = String(String.UnicodeScalarView(visible.drop { $0.properties.isWhitespace }.prefix(most)))
    return text.isEmpty ? nil : text
  }

  /// Whether a key has its private or symmetric part.
  private static func hasSecretKey(_ set: JSONValue?) -> Bool {
    guard case .array(let keys)? = set?["keys"] else { return false }
    return keys.contains { $0["d"] != nil || $0["k"] != nil }
  }
}
#endif
