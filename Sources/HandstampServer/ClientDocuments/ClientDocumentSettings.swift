#if Server
/// The rights of clients that no operator has configured: those that publish a metadata document of their own.
package struct ClientDocumentSettings: Sendable {
  package var scopes: [String]
  package var audiences: [String]
  package var source: PinnedNetwork
  /// Whether a host may have an address that is not public. Tests allow their own.
  var allowsPrivate = false

  package init(scopes: [String], audiences: [String] = [], source: PinnedNetwork) {
    self.scopes = scopes
    self.audiences = audiences
    self.source = source
  }
}
#endif
