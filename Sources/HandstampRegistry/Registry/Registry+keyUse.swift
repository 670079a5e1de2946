public import HandstampCore

/// Which master keys tokens in use were made with. Sessions do not say: a server notes from time to time which key is its current
/// one, and a session that is younger than the last note of a key has no token of it.
extension Registry {
  /// Notes that the current key of this registry makes tokens at this time. Call it periodically, and at the end.
  public func noteKeyUse(now: UnixTime) async throws(RegistryError) {
    let key = mint.keys.current
    // It outlasts every session.
    let fact = RegistryFact(
      id: FactID(.masterKey, key.rawValue), kind: .masterKey, payload: String(now.milliseconds), createdAt: now,
      expiresAt: now.advanced(by: .seconds(3650 * 86_400)))
    try await write([.putFact(fact)])
  }

  /// Returns when a server last noted that a key was its current one; `nil` if none ever did.
  public func lastUse(of key: KeyID) async throws(RegistryError) -> UnixTime? {
    try await fact(FactID(.masterKey, key.rawValue)).flatMap { Int64($0.payload) }
      .map { UnixTime(milliseconds: $0) }
  }
}
