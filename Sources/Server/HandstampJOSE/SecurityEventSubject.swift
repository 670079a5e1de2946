#if JOSE
package import HandstampSupport

/// The subject of a security event (RFC 9493): an account of an issuer, one of its sessions, or both (OpenID Shared Signals
/// Framework 1.0 section 3).
package struct SecurityEventSubject: Sendable, Hashable {
  /// The issuer of the account; `nil` if the subject does not name it.
  package var issuer: String?
  /// The account's `sub`.
  package var account: String?
  /// The session, as `sid` in tokens.
  package var session: String?
  /// The account's address, for a subject that has no `sub`.
  package var email: String?

  package init(
    issuer: String? = nil, account: String? = nil, session: String? = nil, email: String? = nil
  ) {
    self.issuer = issuer
    self.account = account
    self.session = session
    self.email = email
  }

  /// Reads an identifier of the format `iss_sub`, `opaque` (an account's `sub`), `email` or `complex`. `nil` for any other.
  package init?(_ value: JSONValue) {
    // `subject_type` is the name of drafts, without the format of a complex subject.
    let format = (value["format"] ?? value["subject_type"])?.string
    switch format {
    case "iss_sub", "iss-sub":
      guard let issuer = value["iss"]?.string, let account = value["sub"]?.string else { return nil }
      self.init(issuer: issuer, account: account)
    case "opaque":
      guard let account = value["id"]?.string else { return nil }
      self.init(account: account)
    case "email":
      guard let email = value["email"]?.string else { return nil }
      self.init(email: email)
    case "complex", nil:
      guard value["user"] != nil || value["session"] != nil else { return nil }
      self.init()
      if let user = value["user"] {
        // A user that cannot be read must not make it an event about something else.
        guard user["user"] == nil, user["session"] == nil, let read = SecurityEventSubject(user) else { return nil }
        self = read
      }
      if let session = value["session"] {
        guard session["format"]?.string == "opaque" || session["subject_type"]?.string == "opaque",
          let id = session["id"]?.string
        else { return nil }
        self.session = id
      }
    default: return nil
    }
  }

  var json: JSONText {
    var user = JSONText()
    if let account {
      if let issuer {
        user = JSONText([("format", "iss_sub"), ("iss", issuer), ("sub", account)])
      } else {
        user = JSONText([("format", "opaque"), ("id", account)])
      }
    } else if let email {
      user = JSONText([("format", "email"), ("email", email)])
    }
    guard let session else { return user }
    var json = JSONText([("format", "complex")])
    if account != nil || email != nil { json.add("user", user) }
    json.add("session", JSONText([("format", "opaque"), ("id", session)]))
    return json
  }
}
#endif
