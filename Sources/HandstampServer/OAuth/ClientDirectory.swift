#if Server
import HandstampCore
import HandstampSupport

/// The OAuth clients that the server knows: the configured ones, and its own app.
struct ClientDirectory: Sendable {
  /// The `client_id` of the server's own app.
  let ownID: String
  private let clients: [String: ConfiguredClient]
  /// The documents of clients that no operator has configured; `nil` if there are only configured ones.
  private let documents: ClientDocuments?
  /// The rights of such a client.
  private let stranger: ConfiguredClient?

  /// - Parameter algorithms: what the server has keys for.
  /// - Throws: ``ConfiguredClient/Defect/twice(_:)`` if two clients have the same ID, ``ConfiguredClient/Defect/noSigningKey(_:)`` if one asks for tokens
  ///   that the server cannot sign.
  init(
    _ configured: [ConfiguredClient], ownID: String, algorithms: [SigningKeys.Algorithm],
    documents: ClientDocumentSettings? = nil, now: @escaping @Sendable () -> UnixTime = { .current }
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
    self.documents = documents.map { ClientDocuments($0, now: now) }
    if let documents {
      // The address is replaced by those of the document.
      stranger = try ConfiguredClient(
        id: "https:", redirectURIs: ["https://localhost"], scopes: documents.scopes, audiences: documents.audiences)
    } else {
      stranger = nil
    }
  }

  /// Returns the client with that ID; `nil` for the server's own app. A client that no operator has configured has no redirect URI
  /// yet, and its host for a name, see ``described(_:)``.
  subscript(id: String) -> ConfiguredClient? {
    if let known = clients[id] { return known }
    guard var client = stranger, let url = ClientURL(id) else { return nil }
    client.id = id
    client.name = url.host
    client.redirectURIs = []
    return client
  }

  /// Returns the client with that ID, if the operator has configured it.
  func configured(_ id: String) -> ConfiguredClient? { clients[id] }

  /// Returns the client with the redirect URIs and the name of its document, unless the operator has configured it.
  func described(_ client: ConfiguredClient) async throws(DescribedError) -> ConfiguredClient {
    guard clients[client.id] == nil, let documents, let url = ClientURL(client.id) else { return client }
    let document = try await documents.document(at: url)
    var client = client
    client.redirectURIs = document.redirectURIs
    // The client may call itself anything; the host is certain.
    if let name = document.name { client.name = "\(name) (\(url.host))" }
    return client
  }

  /// The clients that are told of ended sessions.
  var relyingParties: [ConfiguredClient] {
    clients.values.filter { $0.backChannelLogoutURI != nil }.sorted { $0.id < $1.id }
  }

  /// Returns whether the tokens of a client are accepted. One that is configured no more keeps its sessions, for its entry may come
  /// back, and can use none of them until then.
  func knows(_ id: String) -> Bool { id == ownID || self[id] != nil }

  /// Returns whether the tokens of a client have the rights of the server's own app.
  func isFirstParty(_ id: String) -> Bool { id == ownID || clients[id]?.isFirstParty == true }
}
#endif
