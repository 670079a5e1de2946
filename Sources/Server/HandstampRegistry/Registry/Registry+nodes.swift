package import HandstampCore

/// The settings that servers on a shared store must have in common, so that each accepts the access tokens of the others.
package struct NodeKeys: Sendable, Hashable {
  /// A name that the server has made up at its start.
  package var node: String
  /// The `iss` of its tokens.
  package var issuer: String
  /// The IDs of the keys that it signs with.
  package var signing: Set<String>
  /// The IDs of all keys that it publishes.
  package var published: Set<String>

  package init(node: String, issuer: String, signing: Set<String>, published: Set<String>) {
    self.node = node
    self.issuer = issuer
    self.signing = signing
    self.published = published
  }

  /// Returns the keys that one of the two signs with and the other one does not know.
  package func unknown(to other: NodeKeys) -> Set<String> {
    signing.subtracting(other.published).union(other.signing.subtracting(published))
  }

  fileprivate var text: String {
    ([signing, published].map { $0.sorted().joined(separator: ",") } + [issuer]).joined(separator: ";")
  }

  fileprivate init?(node: String, text: String) {
    let parts = text.split(separator: ";", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let sets = parts.prefix(2).map { Set($0.split(separator: ",").map(String.init)) }
    self.init(node: node, issuer: String(parts[2]), signing: sets[0], published: sets[1])
  }
}

extension Registry {
  /// How long a server that stopped noting its keys counts as running.
  private static let nodeLife = Duration.seconds(150)
  private static let nodes = "nodes"

  /// Notes the keys of a running server, and returns those of the others. Call it once a minute, and before the server answers its
  /// first request: of two that start at the same time, one finds the other.
  package func note(_ keys: NodeKeys, now: UnixTime) async throws(RegistryError) -> [NodeKeys] {
    let item = StoredItem(
      id: StoredItemID(.nodeKeys, keys.node), kind: .nodeKeys, subject: Registry.nodes,
      payload: "\(keys.node) \(keys.text)", createdAt: now, expiresAt: now.advanced(by: Registry.nodeLife))
    try await write([.putItem(item)])
    return try await liveItems(.nodeKeys, of: Registry.nodes, now: now).compactMap { item in
      let parts = item.payload.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, parts[0] != keys.node else { return nil }
      return NodeKeys(node: String(parts[0]), text: String(parts[1]))
    }
  }

  /// Forgets a server that stops.
  package func forget(_ keys: NodeKeys) async throws(RegistryError) {
    guard let item = try await item(StoredItemID(.nodeKeys, keys.node)) else { return }
    try await write([.removeItem(item)])
  }
}
