#if Server
import HandstampCore
package import HandstampRegistry
import HandstampSupport

extension AccountRecord {
  /// The account as administrators see it.
  var described: JSONText {
    var json = JSONText()
    json.add("id", id.rawValue)
    json.add("state", state.rawValue)
    json.add("email", ifPresent: email?.typed)
    json.add("username", username)
    if let identity { json.add("identity", identity.described) }
    json.add("is_guest", isGuest && state != .deleted)
    json.add("has_password", passwordHash != nil)
    json.add("created_at", createdAt.description)
    json.add("created_at_ms", createdAt.milliseconds)
    json.add("credentials_changed_at", ifPresent: credentialsChangedAt?.description)
    json.add("email_confirmed_at", ifPresent: emailConfirmedAt?.description)
    json.add("closed_at", ifPresent: closedAt?.description)
    return json
  }
}

extension WaitingLogout {
  /// The logout as administrators see it.
  var described: JSONText {
    var json = JSONText()
    json.add("session", session.rawValue)
    json.add("ended_at", endedAt.description)
    json.add("failures", Int64(failures))
    json.add("next_at", ifPresent: nextAt?.description)
    json.add("failure", ifPresent: failure)
    return json
  }
}

extension Administration {
  /// A live session as administrators see it.
  ///
  /// - Parameter address: where it began; `nil` if the audit log no longer has it.
  func described(_ row: SessionRow, from address: String?) -> JSONText {
    var json = row.described(from: address)
    if lacksClient(row) { json.add("client_missing", true) }
    return json
  }
}

extension SessionRow {
  /// The session as administrators see it.
  var described: JSONText { described(from: nil) }

  /// - Parameter address: where it began; `nil` if the audit log no longer has it.
  func described(from address: String?) -> JSONText {
    var json = JSONText()
    json.add("id", id.rawValue)
    var device = JSONText()
    // That of a browser is the secret of its cookie.
    if kind != .browser { device.add("id", self.device.id.rawValue) }
    device.add("name", self.device.name)
    device.add("platform", self.device.platform)
    json.add("device", device)
    json.add("persistence", persistence.rawValue)
    if let client {
      json.add("client", client.id)
      json.add("scope", client.scope)
    }
    json.add("created_at", createdAt.description)
    json.add("created_at_ms", createdAt.milliseconds)
    json.add("last_seen_at", lastSeenAt.description)
    json.add("last_seen_at_ms", lastSeenAt.milliseconds)
    json.add("address", ifPresent: address)
    json.add("expires_at", ifPresent: expiry?.description)
    json.add("ended_at", ifPresent: end?.at.description)
    json.add("end_reason", ifPresent: end?.reason.rawValue)
    json.add("has_push_token", pushToken != nil)
    return json
  }
}

extension StoredAuditedAction {
  /// The entry with its details as text: they are JSON, but an entry may come from another version.
  var described: JSONText {
    var json = JSONText()
    json.add("id", id)
    json.add("at", audited.at.description)
    json.add("at_ms", audited.at.milliseconds)
    json.add("action", audited.action)
    json.add("actor", audited.actor)
    json.add("account", ifPresent: audited.account?.rawValue)
    json.add("session", ifPresent: audited.session?.rawValue)
    json.add("address", ifPresent: audited.address)
    json.add("details", audited.details)
    return json
  }

  /// The entry as one line of JSON, without the newline.
  package var jsonLine: [UInt8] { described.finished }
}

extension ConfiguredClient {
  /// - Parameter machine: what is known of the client's own tokens.
  func described(with machine: MachineRecord?) -> JSONText {
    var json = JSONText()
    json.add("id", id)
    json.add("name", name)
    json.add("is_confidential", isConfidential)
    json.add("has_registered_itself", hasRegisteredItself)
    json.add("redirect_uris", redirectURIs)
    json.add("flows", flows.map(\.rawValue).sorted())
    json.add("scopes", scopes)
    json.add("audiences", audiences)
    json.add("first_party", isFirstParty)
    json.add("access_token_signing_alg", accessTokenSigning.rawValue)
    guard let machine else { return json }
    var own = JSONText()
    own.add("issued_at", machine.issuedAt.description)
    own.add("count", machine.count)
    own.add("address", ifPresent: machine.address)
    json.add("own_tokens", own)
    return json
  }
}

extension RegistryCounts {
  var described: JSONText {
    var json = JSONText()
    json.add("accounts", Int64(accounts))
    json.add("guests", Int64(guests))
    json.add("live_sessions", Int64(liveSessions))
    json.add("ended_sessions", Int64(endedSessions))
    json.add("one_time_tokens", Int64(oneTimeTokens))
    json.add("facts", Int64(items))
    json.add("events", Int64(events))
    json.add("audited_actions", Int64(auditedActions))
    return json
  }
}
extension Credentials {
  /// The ways into an account as administrators and the owner see them.
  var described: JSONText {
    var json = JSONText()
    json.add("has_password", hasPassword)
    json.add("password_changed_at", ifPresent: passwordChangedAt?.description)
    json.add(
      "identities",
      identities.map { link in
        var json = link.identity.described
        json.add("label", link.label)
        json.add("created_at", link.createdAt.description)
        json.add("last_used_at", ifPresent: link.lastUsedAt?.description)
        return json
      })
    json.add(
      "passkeys",
      passkeys.map { passkey in
        var json = JSONText()
        json.add("id", passkey.id)
        json.add("name", passkey.name)
        json.add("created_at", passkey.createdAt.description)
        json.add("last_used_at", ifPresent: passkey.lastUsedAt?.description)
        return json
      })
    json.add("recovery_codes", Int64(recoveryCodes))
    if let totp {
      var app = JSONText()
      app.add("created_at", totp.createdAt.description)
      app.add("last_used_at", ifPresent: totp.lastUsedAt?.description)
      json.add("authenticator_app", app)
    }
    json.add(
      "consents",
      consents.map { consent in
        var json = JSONText()
        json.add("client", consent.client)
        json.add("scope", consent.scopes.joined(separator: " "))
        json.add("given_at", consent.givenAt.description)
        return json
      })
    json.add("pending_email", ifPresent: pendingEmail?.email.typed)
    return json
  }
}
#endif
