#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// The OAuth clients that the server knows: the configured ones, and its own app.
struct ClientDirectory: Sendable {
  /// The `client_id` of the server's own app.
  let ownID: String
  private let clients: [String: ConfiguredClient]
  /// The documents of clients that no operator has configured; `nil` if such clients are refused.
  private let documents: ClientDocuments?
  /// Remembers those that have registered themselves.
  private let registry: Registry
  private let now: @Sendable () -> UnixTime
  /// The rights of clients that no operator has configured; `nil` if they are refused.
  private let documented, registered: ConfiguredClient?

  /// - Parameter algorithms: what the server has keys for.
  /// - Throws: ``ConfiguredClient/Defect/twice(_:)`` if two clients have the same ID, ``ConfiguredClient/Defect/noSigningKey(_:)`` if one asks for tokens
  ///   that the server cannot sign.
  init(
    _ configuration: ServerConfiguration, algorithms: [SigningKeys.Algorithm], registry: Registry,
    now: @escaping @Sendable () -> UnixTime, continuing previous: ClientDirectory? = nil
  ) throws(ServerConfigurationError) {
    var clients: [String: ConfiguredClient] = [:]
    let ownID = configuration.clientID
    for client in configuration.clients {
      guard algorithms.contains(client.accessTokenSigning), algorithms.contains(client.idTokenSigning) else {
        throw .client(.noSigningKey(client.id))
      }
      guard client.id != ownID, clients.updateValue(client, forKey: client.id) == nil else {
        throw .client(.twice(client.id))
      }
    }
    self.ownID = ownID
    self.clients = clients
    documents = configuration.clientDocuments.map { ClientDocuments($0, now: now, continuing: previous?.documents) }
    self.registry = registry
    self.now = now
    documented = try configuration.clientDocuments?.rights.client()
    registered = try configuration.clientRegistration?.client()
  }

  /// Returns the client with that ID; `nil` for the server's own app. A client that no operator has configured has no redirect URI
  /// yet, and its host or its ID for a name, see ``described(_:)``: its sessions do not depend on its description.
  subscript(id: String) -> ConfiguredClient? {
    if let known = clients[id] { return known }
    let url = ClientURL(id)
    guard var client = RegisteredClient.isID(id) ? registered : url == nil ? nil : documented else { return nil }
    client.id = id
    client.name = url?.host ?? id
    client.redirectURIs = []
    return client
  }

  /// Returns the client with that ID, if the operator has configured it.
  func configured(_ id: String) -> ConfiguredClient? { clients[id] }

  /// Returns the client with the redirect URIs and the name of its document, or of its registration, unless the operator has configured
  /// it.
  ///
  /// - Throws: ``DescribedError`` for a document that cannot be used, ``OAuthError/invalidClient`` for a client that is forgotten,
  ///   ``RegistryError``.
  func described(_ client: ConfiguredClient) async throws -> ConfiguredClient {
    guard clients[client.id] == nil else { return client }
    var client = client
    if RegisteredClient.isID(client.id) {
      guard let known = try await registry.registeredClient(client.id, now: now()) else {
        throw OAuthError.invalidClient.describing(ClientDirectory.unknown)
      }
      // Whatever port a client happened to have when it registered (RFC 8252 section 7.3).
      client.redirectURIs = known.redirectURIs.map { ConfiguredClient.withoutPort($0) ?? $0 }
      client.scopes = client.scopes.filter { known.scopes.contains($0) }
      client.name = known.name ?? known.id
      return client
    }
    guard let documents, let url = ClientURL(client.id) else { return client }
    let document = try await documents.document(at: url)
    client.redirectURIs = document.redirectURIs
    // The client may call itself anything; the host is certain.
    if let name = document.name { client.name = "\(name) (\(url.host))" }
    return client
  }

  /// The words for a client that is not known.
  static let unknown = "This app is not registered with this server."

  /// Returns whether the tokens of a client are accepted. One that is configured no more keeps its sessions, for its entry may come
  /// back, and can use none of them until then.
  func knows(_ id: String) -> Bool { id == ownID || self[id] != nil }

  /// Returns whether the tokens of a client have the rights of the server's own app.
  func isFirstParty(_ id: String) -> Bool { id == ownID || clients[id]?.isFirstParty == true }
}

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
#endif
