#if Server
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
