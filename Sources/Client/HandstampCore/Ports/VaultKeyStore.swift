/// A store for a vault key outside of files: a desktop's secret store, or a key service.
public protocol VaultKeyStore: Sendable {
  /// Returns the stored key, or `nil` if it is confirmed that there is none.
  ///
  /// - Throws: ``VaultError/locked`` until the owner unlocks the store, ``VaultError/unavailable(_:)`` if the store
  ///   does not answer. It must return or throw within a few seconds.
  @concurrent func load() async throws(VaultError) -> Secret?

  /// Stores a key durably. Called only after ``load()`` has confirmed that there is none.
  ///
  /// - Throws: ``VaultError``, as ``load()`` does.
  @concurrent func store(_ key: Secret) async throws(VaultError)
}
