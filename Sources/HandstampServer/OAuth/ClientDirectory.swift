#if Server
/// The OAuth clients that the server knows: the configured ones, and its own app.
struct ClientDirectory: Sendable {
  /// The `client_id` of the server's own app.
  let ownID: String
  private let clients: [String: ConfiguredClient]

  /// - Parameter algorithms: what the server has keys for.
  /// - Throws: ``ConfiguredClient/Defect/twice(_:)`` if two clients have the same ID, ``ConfiguredClient/Defect/noSigningKey(_:)`` if one asks for tokens
  ///   that the server cannot sign.
  init(
    _ configured: [ConfiguredClient], ownID: String, algorithms: [SigningKeys.Algorithm]
  ) throws(ServerConfigurationError) {
    var clients: [String: ConfiguredClient] = [:]
    for client in configured {
      guard algorithms.contains(client.accessTokenSigning), algorithms.contains(client.idTokenSigning) else {
        throw .client(.noSigningKey(client.id))
      }
      guard client.id != ownID, clients.updateValue(client, forKey: client.id) == nil else {
        throw .client(.twice(client.id))
      }
    }
    self.ownID = ownID
    self.clients = clients
  }

  /// Returns the configured client with that ID; `nil` for the server's own app.
  subscript(id: String) -> ConfiguredClient? { clients[id] }

  /// Returns the algorithm that signs the access tokens of a client; `nil` is the server's own app.
  func signing(for id: String?) -> SigningKeys.Algorithm { id.flatMap { clients[$0] }?.accessTokenSigning ?? .es256 }

  /// The clients that are told of ended sessions.
  var relyingParties: [ConfiguredClient] {
    clients.values.filter { $0.backChannelLogoutURI != nil }.sorted { $0.id < $1.id }
  }

  /// Returns whether the tokens of a client have the rights of the server's own app.
  func isFirstParty(_ id: String) -> Bool { id == ownID || clients[id]?.isFirstParty == true }
}
#endif
