/// The metadata of a protected resource (RFC 9728), by which clients find out where its tokens come from.
package struct ResourceDocument: Sendable, Hashable {
  /// The path of the document at the resource's host.
  package let path: String
  package let url: String
  package let json: [UInt8]

  /// - Parameters:
  ///   - resource: the resource's identifier.
  ///   - scopes: the scopes that clients ask for at first.
  ///   - requiresProofs: whether the resource refuses tokens that are bound to no key.
  /// - Returns: `nil` if the identifier is no URL to which secrets may be sent, or has a query or a fragment (RFC 9728 section 1.2).
  package init?(
    of resource: String, issuer: String, scopes: [String], name: String? = nil, requiresProofs: Bool = false
  ) {
    guard let parsed = WebURL(resource), parsed.origin.isTrustworthy, parsed.query == nil,
      resource.utf8.allSatisfy({ (33...126).contains($0) && $0 != 34 && $0 != 35 && $0 != 92 })
    else { return nil }
    path = ResourceDocument.path("oauth-protected-resource", of: parsed)
    url = parsed.origin.text + path
    var json = JSONText(reserving: 512)
    json.add("resource", resource)
    json.add("authorization_servers", [issuer])
    json.add("resource_name", ifPresent: name)
    if !scopes.isEmpty { json.add("scopes_supported", scopes) }
    json.add("bearer_methods_supported", ["header"])
    json.add("dpop_signing_alg_values_supported", [AccessChallenge.proofAlgorithm])
    if requiresProofs { json.add("dpop_bound_access_tokens_required", true) }
    self.json = json.finished
  }

  /// Returns the path of a document about a URL, whose own path follows the well-known part without a slash at its end (RFC 8414
  /// section 3.1, RFC 9728 section 3.1).
  package static func path(_ name: String, of url: WebURL) -> String {
    "/.well-known/" + name + (url.path == "/" ? "" : url.path)
  }
}
