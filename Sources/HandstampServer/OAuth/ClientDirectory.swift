#if Server
/// The OAuth clients that the server knows: the configured ones, and its own app.
struct ClientDirectory: Sendable {
  /// The `client_id` of the server's own app.
  let ownID: String
  private let clients: [String: ConfiguredClient]

  /// - Throws: ``ClientFault/twice(_:)`` if two clients have the same ID.
  init(_ configured: [ConfiguredClient], ownID: String) throws(ClientFault) {
    var clients: [String: ConfiguredClient] = [:]
    for client in configured {
      guard client.id != ownID, clients.updateValue(client, forKey: client.id) == nil else { throw .twice(client.id) }
    }
    self.ownID = ownID
    self.clients = clients
  }

  /// Returns the configured client with that ID; `nil` for the server's own app.
  subscript(id: String) -> ConfiguredClient? { clients[id] }

  /// Returns whether the tokens of a client have the rights of the server's own app.
  func isFirstParty(_ id: String) -> Bool { id == ownID || clients[id]?.isFirstParty == true }
}
#endif
