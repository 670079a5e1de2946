package import HandstampCore
import HandstampSupport

extension TokenMint {
  /// A purpose of a master key. Each has a key of its own, so that a MAC or a sealed text for one purpose is worth nothing for
  /// another.
  package enum Purpose: String, CaseIterable, Sendable {
    case refreshToken = "hst1"
    case revocationHandle = "hsr1"
    case browserCookie = "hsb1"
    /// The ID of a session that a request with a rotation key begins.
    case session = "hss1 session"
    /// That a database belongs to the key.
    case keyCheck = "hsc1"
    /// A name for an address in logs, that only this server's key can connect with it.
    case logName = "hsl1 pseudonym"
    case passkeyChallenge = "hsp1 passkey challenge"
    /// The proof that a browser's sign-in was made for one request.
    case freshSignIn = "hsf1 fresh sign-in"
    /// The proof that the right password was typed in a browser, before the second factor.
    case halfSignIn = "hsh1 half sign-in"
    /// A sign-in at a provider that a browser has begun.
    case upstreamAttempt = "hsu1 upstream attempt"
    /// The secret of an authenticator app.
    case totp = "hst1 authenticator app"
    /// A token of the system that the users come from.
    case formerToken = "hsv1 former token"
    /// The tokens of a provider.
    case upstreamTokens = "hsu2 upstream tokens"
    /// The secret that a webhook's messages are signed with.
    case webhook = "hsw1 webhook"
    /// Apple's grant to the app for an account.
    case appleGrant = "hsa1 Apple grant"
  }
}

extension TokenMint.Purpose {
  /// The things that are lost with the key that made something.
  package enum Dependents: Sendable {
    /// A live session that has not been refreshed since.
    case sessionsUntilRefresh
    /// A live session.
    case sessions
    /// Stored items of these kinds, with their names for people, see ``StoredItem/keys(at:)``.
    case items([StoredItem.Kind: String])
    /// Nothing: it is made again within an hour, or only compared with others of its kind.
    case nothing
  }

  /// Each purpose says it, so that none can be forgotten.
  package var dependents: Dependents {
    switch self {
    case .refreshToken: .sessionsUntilRefresh
    case .revocationHandle, .browserCookie, .session: .sessions
    case .totp: .items([.totp: "authenticator app"])
    case .formerToken:
      .items([.formerToken: "successor of a former token", .formerEnd: "former session that is to be ended"])
    case .webhook: .items([.webhook: "webhook secret"])
    case .appleGrant: .items([.appleGrant: "Apple token"])
    case .passkeyChallenge, .freshSignIn, .halfSignIn, .upstreamAttempt, .upstreamTokens, .logName, .keyCheck: .nothing
    }
  }

  /// The kinds of items that need a key, with their names for people.
  static let kinds = allCases.reduce(into: [StoredItem.Kind: String]()) { kinds, purpose in
    if case .items(let names) = purpose.dependents { kinds.merge(names) { $1 } }
  }
}

extension StoredItem {
  /// How an item depends on master keys.
  private enum KeyUse {
    /// These members of its payload are sealed, each with the key that it names.
    case seals(TokenMint.Purpose, boundTo: String, [String])
    /// Secrets are derived from these keys.
    case derives([KeyID])
    case none
  }

  /// Each kind says it, so that none can be forgotten.
  private func keyUse(at now: UnixTime) -> KeyUse {
    switch kind {
    case .totp: return .seals(.totp, boundTo: Registry.totpContext(AccountID(subject)), ["sealed"])
    case .formerToken: return .seals(.formerToken, boundTo: Base64URL.encode(id.bytes), ["successor"])
    case .formerEnd: return .seals(.formerToken, boundTo: Base64URL.encode(id.bytes), ["refresh", "access"])
    case .appleGrant: return .seals(.appleGrant, boundTo: Base64URL.encode(id.bytes), ["code", "token"])
    case .webhook:
      guard let webhook = PayloadCoding.value(Webhook.self, payload), webhook.settings.format == .standard else {
        return .none
      }
      return .derives(webhook.signers(at: now).map(\.key))
    case .guesses, .device, .client, .consent, .emailChange, .passkey, .identity, .recoveryCodes, .groups, .logout,
      .mail, .probe, .masterKey, .nodeKeys, .tokenLife, .auditCopy, .machine, .registration, .deadLetter, .removal,
      .upstreamSession, .upstreamEnd, .upstreamEvent:
      return .none
    }
  }

  /// The master keys without which it is worth nothing.
  func keys(at now: UnixTime) -> Set<KeyID> {
    switch keyUse(at: now) {
    case .seals(_, _, let members):
      let fields = PayloadCoding.fields(payload) ?? [:]
      return Set(members.compactMap { fields[$0].flatMap { TokenMint.key(ofSealed: $0) } })
    case .derives(let keys): return Set(keys)
    case .none: return []
    }
  }

  /// The item with everything in it sealed with the current key. A text that no key opens stays as it is.
  ///
  /// - Throws: ``RegistryError/unknownKey(_:)`` if a key is missing.
  func resealed(by mint: TokenMint, now: UnixTime) throws(RegistryError) -> StoredItem {
    guard case .seals(let purpose, let context, let members) = keyUse(at: now),
      var fields = PayloadCoding.fields(payload)
    else { return self }
    for name in members {
      guard let text = fields[name], TokenMint.key(ofSealed: text) != mint.keys.current,
        let secret = try mint.secret(text, for: purpose, boundTo: context)
      else { continue }
      fields[name] = try mint.seal(secret, for: purpose, boundTo: context)
    }
    var item = self
    item.payload = PayloadCoding.text(fields)
    return item
  }
}

/// The things that need a master key, counted.
package struct KeyDependents: Sendable, Hashable {
  /// When a server last noted that it makes tokens with the key.
  package var lastUse: UnixTime?
  /// Live sessions that may have a refresh token of the key.
  package var refreshTokens = 0
  /// Live sessions that may have a revocation handle or a cookie of the key, made at their sign-in.
  package var handles = 0
  package var items: [StoredItem.Kind: Int] = [:]

  package init(lastUse: UnixTime? = nil) { self.lastUse = lastUse }

  package var isEmpty: Bool { refreshTokens == 0 && handles == 0 && items.isEmpty }

  /// For people, without sessions.
  package var itemWords: [String] {
    items.compactMap { kind, count in TokenMint.Purpose.kinds[kind].map { "\(count) \($0)(s)" } }.sorted()
  }

  /// For people.
  package var words: String {
    let sessions =
      handles == 0 && refreshTokens == 0
      ? []
      : [
        "\(refreshTokens) live session(s) may have a refresh token of it, and \(handles) a revocation handle or cookie"
      ]
    return (sessions + (items.isEmpty ? [] : ["it has made " + itemWords.joined(separator: ", ")])).joined(
      separator: "; ")
  }
}
