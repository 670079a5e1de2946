#if Server
/// The rights of clients that no operator has configured.
package struct StrangerRights: Sendable {
  package var scopes: [String]
  package var audiences: [String]

  package init(scopes: [String], audiences: [String] = []) {
    self.scopes = scopes
    self.audiences = audiences
  }

  /// A client with these rights: public, and of others. ID, name and address are placeholders.
  func client() throws(ServerConfigurationError) -> ConfiguredClient {
    try ConfiguredClient(id: "https:", redirectURIs: ["https://localhost"], scopes: scopes, audiences: audiences)
  }
}

/// Clients that publish a metadata document of their own.
package struct ClientDocumentSettings: Sendable {
  package var rights: StrangerRights
  package var source: PinnedNetwork
  /// Whether a host may have an address that is not public. Tests allow their own.
  var allowsPrivate = false

  package init(rights: StrangerRights, source: PinnedNetwork) {
    self.rights = rights
    self.source = source
  }
}
#endif
