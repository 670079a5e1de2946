import Crypto
package import HandstampCore

extension TokenMint {
  /// Returns a webhook's secret of 32 bytes, derived from a master key, so that the store needs none. `nil` if the key was retired.
  package func secret(of webhook: Webhook, by signer: Webhook.Signer) -> Secret? {
    guard let master = keys.keys[signer.key] else { return nil }
    return Derivation.key(
      from: Derivation.extract(master), for: .webhook,
      context: Array("\(webhook.id).\(signer.generation)".utf8), size: 32
    ).withUnsafeBytes { Secret(bytes: Array($0)) }
  }
}

extension Webhook {
  /// Those who sign a message at that time, the newest first.
  package func signers(at now: UnixTime) -> [Signer] {
    [signer] + (formerSigner.map { $0.until > now ? [$0.signer] : [] } ?? [])
  }
}

extension Registry {
  /// Returns the kind of a change of credentials, which the audit log has from the same write; `nil` if it is not among the latest
  /// entries about the account.
  package func credentialChange(_ event: RegistryEvent) async throws(RegistryError) -> AuditedAction.Kind? {
    try await latestAuditedActions(about: event.account, limit: 64).lazy
      .filter { $0.audited.at == event.at }.compactMap { AuditedAction.Kind(rawValue: $0.audited.action) }
      .first { Registry.credentialChanges.contains($0) }
  }

  private static let credentialChanges: Set<AuditedAction.Kind> = [
    .passwordChanged, .passwordReset, .passwordRemoved, .emailChanged, .passkeyAdded, .passkeyRemoved,
    .totpAdded, .totpRemoved, .identityLinked, .identityUnlinked, .recoveryCodesMade, .takenBack,
  ]
}
