#if HTTP
package import HTTPTypes

/// Header fields of every response.
package struct ResponseFields: Sendable {
  /// `Strict-Transport-Security` (RFC 6797); `nil` for a server without a public `https` address.
  package var transportSecurity: String?

  package init() {}

  private static let policy = HTTPField(
    name: .contentSecurityPolicy,
    value: "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'")

  package func add(to headers: inout HTTPFields) {
    headers[.xContentTypeOptions] = "nosniff"
    // JSON and redirects: nothing of them may be shown as a page, nor in one. Pages have their own.
    if !headers.contains(.contentSecurityPolicy) { headers.append(ResponseFields.policy) }
    if let transportSecurity { headers[.strictTransportSecurity] = transportSecurity }
  }
}
#endif
