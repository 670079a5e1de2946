#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// The grants by which other clients get tokens at `POST /oauth/token`.
extension SessionServer {
  /// Redeems an authorization code (RFC 6749 section 4.1.3).
  func redeemCode(
    _ form: FormBody, _ caller: Caller, proof: String?, _ context: ServerContext
  ) async throws -> Response {
    guard let client = caller.client, client.flows.contains(.code) else {
      return OAuthAnswer.refusal("unauthorized_client")
    }
    guard let code = form["code"], let redirect = form["redirect_uri"], let verifier = form["code_verifier"] else {
      return OAuthAnswer.refusal("invalid_request", description: "code, redirect_uri or code_verifier is missing")
    }
    let claim = CodeClaim(client: client.id, redirectURI: redirect, verifier: Secret(verifier), thumbprint: proof)
    do throws(RegistryError) {
      switch try await registry.redeemCode(Secret(code), claim, now: now()) {
      case .signedIn(let new): return try began(new, context)
      case .invalid: return OAuthAnswer.refusal("invalid_grant")
      case .replayed(let outcome):
        ended(outcome, context)
        context.logger.warning(
          "An authorization code was used twice", metadata: ["handstamp.client": "\(client.id)"])
        return OAuthAnswer.refusal("invalid_grant", reason: .tokenReuseDetected)
      }
    } catch {
      report(error, context)
      return OAuthAnswer.unavailable
    }
  }

  /// Answers a polling device (RFC 8628 section 3.4).
  func redeemDevice(
    _ form: FormBody, _ caller: Caller, proof: String?, _ context: ServerContext
  ) async throws -> Response {
    guard let client = caller.client, client.flows.contains(.device) else {
      return OAuthAnswer.refusal("unauthorized_client")
    }
    guard let code = form["device_code"] else {
      return OAuthAnswer.refusal("invalid_request", description: "device_code is missing")
    }
    // Do not remember codes that cannot be genuine: any client may send them, as long as a body may be.
    guard let presented = OneTimeToken(presented: Secret(code)) else { return OAuthAnswer.refusal("invalid_grant") }
    let now = self.now()
    guard pacing.mayAsk(presented.secret, now: now) else { return OAuthAnswer.refusal("slow_down") }
    do throws(RegistryError) {
      switch try await registry.redeemDevice(presented.secret, client: client.id, thumbprint: proof, now: now) {
      case .signedIn(let new): return try began(new, context)
      case .pending: return OAuthAnswer.refusal("authorization_pending")
      case .denied: return OAuthAnswer.refusal("access_denied")
      case .expired: return OAuthAnswer.refusal("expired_token")
      case .invalid: return OAuthAnswer.refusal("invalid_grant")
      }
    } catch {
      report(error, context)
      return OAuthAnswer.unavailable
    }
  }

  private func began(_ new: NewSession, _ context: ServerContext) throws(RegistryError) -> Response {
    hub.announce(new.account.id)
    metrics.update { $0.signIns += 1 }
    context.logger.info(
      "Signed in",
      metadata: [
        "handstamp.account": "\(new.account.id)", "handstamp.session": "\(new.row.id)",
        "handstamp.client": "\(new.row.client?.id ?? "")",
      ])
    do {
      var json = try tokenAnswer(new.row, new.refreshToken)
      json.add("revocation_handle", new.revocationHandle.secret.withExposed { $0 })
      json.add("profile", new.account.profile)
      return OAuthAnswer.success(json)
    } catch {
      throw .unavailable("signing failed: \(type(of: error))")
    }
  }

  /// `POST /oauth/device_authorization` (RFC 8628 section 3.1).
  @concurrent func authorizeDevice(_ request: Request, _ context: ServerContext) async throws -> Response {
    let (form, caller): (FormBody, Caller)
    switch try await call(request) {
    case .success(let found): (form, caller) = found
    case .failure(let refusal): return refusal.response
    }
    guard let client = caller.client, client.flows.contains(.device) else {
      return OAuthAnswer.refusal("unauthorized_client")
    }
    guard let scope = client.granted(form["scope"]) else { return OAuthAnswer.refusal("invalid_scope") }
    guard form["resource"].map({ client.audiences.contains($0) }) ?? true else {
      return OAuthAnswer.refusal("invalid_target")
    }
    let grant = DeviceGrant(client: client.id, clientName: client.name, scope: scope, audience: form["resource"])
    do throws(RegistryError) {
      let codes = try await registry.beginDevice(grant, now: now())
      var json = JSONText()
      json.add("device_code", codes.device.secret.withExposed { $0 })
      json.add("user_code", codes.user.text)
      json.add("verification_uri", configuration.issuer + "/device")
      json.add("verification_uri_complete", configuration.issuer + "/device?user_code=" + codes.user.text)
      json.add("expires_in", DeviceGrant.life.components.seconds)
      json.add("interval", DeviceGrant.interval.components.seconds)
      return OAuthAnswer.success(json)
    } catch {
      report(error, context)
      return OAuthAnswer.unavailable
    }
  }
}
#endif
