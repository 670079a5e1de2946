package import HandstampCore
import HandstampSupport

/// The payload of a one-time token or an item: form-encoded, with its fields sorted by name.
package protocol StoredPayload {
  var fields: [String: String?] { get }
  init?(fields: [String: String])
}

package enum PayloadCoding {
  package static func text(_ payload: some StoredPayload) -> String { text(payload.fields.compactMapValues { $0 }) }

  static func text(_ fields: [String: String]) -> String {
    let fields = fields.sorted { $0.key < $1.key }
    return String(decoding: [UInt8](form: fields.map { ($0.key, Secret($0.value)) }), as: UTF8.self)
  }

  /// Returns `nil` if the text is not a valid payload, such as one that a newer version wrote.
  package static func value<Payload: StoredPayload>(_ type: Payload.Type, _ text: String) -> Payload? {
    fields(text).flatMap { Payload(fields: $0) }
  }

  static func fields(_ text: String) -> [String: String]? {
    var fields: [String: String] = [:]
    for part in text.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, let value = decoded(pair[1]) else { return nil }
      fields[String(pair[0])] = value
    }
    return fields
  }

  private static func decoded(_ text: Substring) -> String? {
    PercentEncoding.decode(text.utf8).flatMap { String(utf8Bytes: $0) }
  }
}

extension CodeGrant: StoredPayload {
  package var fields: [String: String?] {
    [
      "client": client, "name": clientName, "redirect": redirectURI, "challenge": challenge, "scope": scope,
      "audience": audience, "thumbprint": thumbprint, "authenticated": authenticatedAt.map { String($0.milliseconds) },
      "nonce": nonce, "browser": browser?.rawValue, "borrowed": isBorrowed ? "1" : nil, "session": session?.rawValue,
      "until": absoluteExpiry.map { String($0.milliseconds) },
      "methods": methods.text, "acr": methods.asked?.rawValue,
      "redeemable": redeemableUntil.map { String($0.milliseconds) },
    ]
  }

  package init?(fields: [String: String]) {
    guard let client = fields["client"], let name = fields["name"], let redirect = fields["redirect"],
      let scope = fields["scope"]
    else { return nil }
    self.init(
      client: client, clientName: name, redirectURI: redirect, challenge: fields["challenge"], scope: scope,
      audience: fields["audience"], thumbprint: fields["thumbprint"], nonce: fields["nonce"])
    authenticatedAt = fields.time("authenticated")
    methods = AuthenticationMethods(text: fields["methods"], asked: fields.context)
    browser = fields["browser"].map { DeviceID($0) }
    isBorrowed = fields["borrowed"] != nil
    session = fields["session"].map { SessionID($0) }
    absoluteExpiry = fields.time("until")
    redeemableUntil = fields.time("redeemable")
  }
}

extension DeviceGrant: StoredPayload {
  package var fields: [String: String?] {
    [
      "client": client, "name": clientName, "scope": scope, "audience": audience, "other": other,
      "denied": isDenied ? "1" : nil, "session": session?.rawValue, "browser": browser?.rawValue,
      "until": absoluteExpiry.map { String($0.milliseconds) },
      "authenticated": authenticatedAt.map { String($0.milliseconds) },
      "acr": context?.rawValue, "max_age": maxAge.map { String($0.components.seconds) },
      "methods": methods.text, "redeemable": redeemableUntil.map { String($0.milliseconds) },
    ]
  }

  package init?(fields: [String: String]) {
    guard let client = fields["client"], let name = fields["name"], let scope = fields["scope"],
      let other = fields["other"]
    else { return nil }
    self.init(client: client, clientName: name, scope: scope, audience: fields["audience"])
    self.other = other
    isDenied = fields["denied"] != nil
    session = fields["session"].map { SessionID($0) }
    browser = fields["browser"].map { DeviceID($0) }
    absoluteExpiry = fields.time("until")
    authenticatedAt = fields.time("authenticated")
    context = fields.context
    methods = AuthenticationMethods(text: fields["methods"], asked: context)
    maxAge = fields["max_age"].flatMap { Int64($0) }.map { .seconds($0) }
    redeemableUntil = fields.time("redeemable")
  }
}

extension [String: String] {
  fileprivate var context: AuthenticationContext? { self["acr"].flatMap { AuthenticationContext(rawValue: $0) } }

  package func time(_ name: String) -> UnixTime? {
    self[name].flatMap { Int64($0) }.map { UnixTime(milliseconds: $0) }
  }
}
