import HandstampSupport

/// The Bearer challenge of a response (RFC 6750 section 3, RFC 9110 section 11.6.1, RFC 9470 section 3).
package struct ReceivedChallenge: Sendable, Hashable {
  /// Such as `invalid_token` or `insufficient_scope`; `nil` for a request without a token.
  package var error: String?
  /// The scopes that the request needs.
  package var scopes: [String] = []
  /// The URL of the resource's metadata (RFC 9728 section 5.1).
  package var metadata: String?
  /// The values of `acr` of which the token needs one; empty for any.
  package var acrValues: [String] = []
  /// Maximum time since the user has signed in; `nil` for any.
  package var maxAge: Duration?

  /// Whether the user has to prove again, or better, to be the account's owner: no refresh helps.
  package var demandsProof: Bool { error == "insufficient_user_authentication" }

  /// Returns `nil` if the response has no such challenge.
  package init?(_ headers: [HeaderField]) {
    let fields = headers.filter { $0.name.lowercased() == "www-authenticate" }.map(\.value)
    guard let parameters = fields.lazy.compactMap(ReceivedChallenge.bearer).first else { return nil }
    error = parameters["error"]
    scopes = (parameters["scope"] ?? "").split(separator: " ").map(String.init)
    metadata = parameters["resource_metadata"]
    acrValues = (parameters["acr_values"] ?? "").split(separator: " ").map(String.init)
    // At most 18 digits fit any integer.
    maxAge = parameters["max_age"].flatMap { $0.utf8.count <= 18 ? Int64($0) : nil }.map { .seconds(max($0, 0)) }
  }

  /// The parameters of the Bearer challenge in a field; of two with one name, the first counts.
  private static func bearer(in field: String) -> [String: String]? {
    var parameters: [String: String]?
    var rest = field[...]
    while true {
      rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
      let word = token(&rest)
      guard !word.isEmpty else { return parameters }
      let after = rest.drop { $0 == " " || $0 == "\t" }
      if after.first == "=", !after.dropFirst().hasPrefix("=") {
        rest = after.dropFirst().drop { $0 == " " || $0 == "\t" }
        guard let value = value(&rest) else { return parameters }
        let name = word.lowercased()
        if parameters?[name] == nil { parameters?[name] = value }
      } else {
        // A scheme begins the next challenge.
        if parameters != nil { return parameters }
        if AccessScheme(word) == .bearer { parameters = [:] }
        // The one value of some schemes (token68), in place of parameters.
        rest = after.drop { $0 == "=" }
      }
    }
  }

  private static func token(_ rest: inout Substring) -> Substring {
    let word = rest.prefix { !" \t,=\"".contains($0) }
    rest = rest[word.endIndex...]
    // A character that nothing can begin with.
    if word.isEmpty, !rest.isEmpty { rest = rest[rest.endIndex...] }
    return word
  }

  private static func value(_ rest: inout Substring) -> String? {
    guard rest.first == "\"" else { return String(token(&rest)) }
    var text = ""
    var isEscaped = false
    for index in rest.indices.dropFirst() {
      let character = rest[index]
      if isEscaped {
        text.append(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        rest = rest[rest.index(after: index)...]
        return text
      } else {
        text.append(character)
      }
    }
    return nil
  }
}
