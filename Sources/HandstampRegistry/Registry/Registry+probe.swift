public import HandstampCore

extension Registry {
  /// Writes to the store, to see whether it can be written: a full disk can still be read.
  ///
  /// - Throws: ``RegistryError/unavailable(_:)``.
  public func checkWritable(now: UnixTime) async throws(RegistryError) {
    let fact = RegistryFact(
      id: FactID(.probe), kind: .probe, createdAt: now, expiresAt: now.advanced(by: .seconds(86_400)))
    do throws(RegistryStoreError) { _ = try await store.write([.putFact(fact)], events: []) } catch {
      throw RegistryError(error)
    }
  }
}
