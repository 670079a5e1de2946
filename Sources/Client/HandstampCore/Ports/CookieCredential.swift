/// Cookies as the credential of a session, for what is not a request: they are shown, and lent to web views.
package protocol CookieCredential: RequestCredential {
  /// When the cookie that is the session expires, by this device's clock; `nil` if there is none, or if it lasts as long as the session.
  func expiry(of credential: Credential) -> UnixTime?

  /// The cookies that the site gets, whatever the path.
  func cookies(of credential: Credential, at now: UnixTime) -> [LentCookie]

  /// The changes that a web view has made to the cookies that were lent to it, as the fields of a response of the site. Cookies of other sites are no
  /// part of it.
  func changes(from lent: [LentCookie], to shown: [LentCookie], at now: UnixTime) -> [CookieChange]
}

/// A cookie outside the session's own jar (RFC 6265 section 5.3).
package struct LentCookie: Sendable, Hashable {
  package var name: String
  package var value: Secret
  /// In lower case, without a leading dot.
  package var domain: String
  package var isHostOnly: Bool
  package var path: String
  package var expires: UnixTime?
  package var isSecure: Bool
  package var isHTTPOnly: Bool

  package init(
    name: String, value: Secret, domain: String, isHostOnly: Bool, path: String, expires: UnixTime?, isSecure: Bool,
    isHTTPOnly: Bool
  ) {
    self.name = name
    self.value = value
    self.domain = domain
    self.isHostOnly = isHostOnly
    self.path = path
    self.expires = expires
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
  }

  /// Whether one of the two replaces the other. By bytes, as servers compare.
  package func isSamePlace(as other: LentCookie) -> Bool {
    name.utf8.elementsEqual(other.name.utf8) && domain == other.domain && path.utf8.elementsEqual(other.path.utf8)
  }
}

/// One cookie that was set, changed or removed.
package struct CookieChange: Sendable, Hashable {
  package var cookie: LentCookie
  /// The field `Set-Cookie` of a response that does the same.
  package var field: HeaderField
  package var isRemoval: Bool

  package init(_ cookie: LentCookie, field: HeaderField, isRemoval: Bool) {
    self.cookie = cookie
    self.field = field
    self.isRemoval = isRemoval
  }
}
