#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport
import HandstampTransports

/// An OAuth sign-in at a terminal.
struct OAuthSignIn: Sendable {
  enum Way: Sendable {
    case browser, device

    var method: SignInMethod {
      switch self {
      case .browser: .browser
      case .device: .deviceCode
      }
    }
  }

  let server: ServerAddress
  /// The client, with the scopes that are requested now.
  var record: OAuthRecord { requested.withLock { $0.record } }
  var secret: Secret? { requested.withLock { $0.secret } }
  let metadata: ServerMetadata
  private let requested: Locked<(record: OAuthRecord, secret: Secret?)>
  /// Whether the user named no scopes.
  private let hasUsualScopes: Bool

  private let transport: any Transport
  /// `nil` for bearer tokens.
  private let prover: DPoPProver?

  private var backend: OAuthBackend {
    OAuthBackend(record.settings(secret: secret), transport: transport, proving: prover)
  }

  /// Fetches the server's metadata.
  ///
  /// - Parameters:
  ///   - record: The client; one without an ID registers itself. If it has no scopes, common ones that the server supports are
  ///     requested.
  ///   - secret: The secret of a confidential client.
  ///   - home: The place of the key, if tokens are to be bound to one.
  init(
    _ record: OAuthRecord, secret: Secret?, at server: ServerAddress, in home: Home, over transport: any Transport
  ) async throws(CommandError) {
    let finding = OAuthBackend(record.settings(secret: nil), transport: transport)
    do throws(SessionError) {
      metadata = try await WaitLine.shared.during(server.text) { () async throws(SessionError) in
        try await finding.metadata()
      }
    } catch {
      let refusal = CommandError(error, server: server)
      switch error {
      case .invalidResponse:
        guard let issuer = finding.otherIssuer else {
          throw refusal.hinting("use the issuer as published in the server's /.well-known/openid-configuration")
        }
        throw refusal.saying("the issuer is \(issuer)").hinting(
          "run the same command with --issuer \(shellWord(issuer))")
      case .unsupported(let places):
        if Verbosity.logger != nil { Terminal.say(places) }
        throw refusal.saying("no OAuth server at \(record.issuer.onOneLine): it publishes no metadata").hinting(
          "check the address; if it is right, name the endpoints with --endpoint authorization=URL --endpoint token=URL"
        )
      default: throw refusal
      }
    }
    var record = record
    record.issuer = metadata.issuer
    if let known = record.registration, known.issuer != record.issuer || known.redirect != record.redirect {
      (record.registration, record.client) = (nil, "")
    }
    hasUsualScopes = record.scopes.isEmpty
    if hasUsualScopes {
      let known = metadata.scopes
      record.scopes = ["openid", "profile", "email", "offline_access"].filter { known?.contains($0) ?? ($0 != "email") }
    }
    record.hasSecret = secret == nil ? nil : true
    do throws(SessionError) {
      prover = record.isBound == true ? try home.newProver(at: record.issuer) : nil
    } catch { throw CommandError(error, server: server) }
    record.key = prover?.key.thumbprint
    self.server = server
    requested = Locked((record, secret))
    self.transport = transport
  }

  /// The default method: a browser if one is likely to be available.
  var usualWay: Way {
    let hasPage = metadata.authorizationEndpoint != nil
    return hasPage && (metadata.deviceAuthorizationEndpoint == nil || Browser.isLikely) ? .browser : .device
  }

  /// Signs in. If the server refuses `offline_access`, which the user did not ask for, once more without it: Keycloak lists the scope
  /// whether or not the user has the role for it.
  ///
  /// - Parameters:
  ///   - opening: Whether to open a browser.
  ///   - patience: How long to wait for the user; `nil` for 5 min with a browser, and for the code's lifetime with a device.
  func signIn(
    by way: Way, opening: Bool, within patience: Duration?
  ) async throws(CommandError) -> TokenResponse {
    do throws(CommandError) { return try await attempt(by: way, opening: opening, within: patience) } catch {
      guard hasUsualScopes, record.scopes.contains("offline_access"),
        ["invalid_scope", "not_allowed"].contains(error.code)
      else { throw error }
      Terminal.say("\(server.text) does not allow the scope offline_access; signing in without it")
      requested.withLock { $0.record.scopes.removeAll { $0 == "offline_access" } }
      return try await attempt(by: way, opening: opening, within: patience)
    }
  }

  private func attempt(
    by way: Way, opening: Bool, within patience: Duration?
  ) async throws(CommandError) -> TokenResponse {
    let patience = patience ?? (way == .browser ? .seconds(300) : nil)
    let isLate = Locked(false)
    let receiver = way == .browser ? try await receiver(opening: opening) : nil
    do throws(CommandError) { try await register(for: receiver) } catch {
      await receiver?.close()
      throw error
    }
    do throws(SessionError) {
      let grant =
        if let receiver { try await byBrowser(receiver, within: patience, isLate) } else {
          try await onAnotherDevice(within: patience, isLate)
        }
      await receiver?.close()
      requested.withLock { asked in
        asked.record.granted = grant.scopes.flatMap { Set($0).isSuperset(of: asked.record.scopes) ? nil : $0 }
      }
      if way == .browser, dependsOnBrowser(grant) {
        Terminal.say(
          "this session ends when the browser signs out at \(server.text), which did not grant the scope offline_access"
        )
      }
      return grant
    } catch {
      await receiver?.close()
      throw refusal(error, way, within: isLate.withLock { $0 } ? patience : nil)
    }
  }

  /// Registers the command if it has no client yet, or its server has forgotten the one that it has registered.
  private func register(for receiver: LoopbackReceiver?) async throws(CommandError) {
    let previous = record
    guard previous.client.isEmpty || previous.registration != nil else { return }
    if !previous.client.isEmpty {
      guard await backend.isForgotten() else { return }
      Terminal.say(
        "\(server.text) no longer knows the client \(previous.client.onOneLine), which had registered itself")
    }
    let new: ClientInformation
    do throws(SessionError) {
      new = try await backend.register(
        as: "Handstamp", redirectURI: receiver?.redirectURI ?? "http://127.0.0.1/callback")
    } catch { throw unregistered(error) }
    requested.withLock { asked in
      asked.record.client = new.id
      // With its port: many servers compare that.
      asked.record.redirect = receiver?.redirectURI ?? asked.record.redirect
      asked.record.registration = OAuthRegistration(
        issuer: metadata.issuer, redirect: asked.record.redirect, secretExpiresAt: new.secretExpiresAt)
      asked.record.hasSecret = new.secret == nil ? nil : true
      asked.record.secretPlace = new.secretPlace?.rawValue
      if let scopes = new.scopes { asked.record.scopes.removeAll { !scopes.contains($0) } }
      asked.secret = new.secret
    }
    Terminal.say("registered at \(server.text) as the client \(new.id.onOneLine)")
  }

  /// Whether the session ends with that of the browser, as it does for OpenID Connect clients unless they were allowed to stay
  /// (Back-Channel Logout 1.0 section 2.7): at Handstamp's own server, and at servers that know the scope for it.
  private func dependsOnBrowser(_ grant: TokenResponse) -> Bool {
    let scopes = grant.scopes ?? record.scopes
    guard scopes.contains("openid"), !scopes.contains("offline_access") else { return false }
    return metadata.namesOwnAPI || metadata.scopes?.contains("offline_access") == true
  }

  private func receiver(opening: Bool) async throws(CommandError) -> LoopbackReceiver {
    let open: @Sendable (String) async -> Void = { page in
      // Always print it: the browser may open on another screen, or not at all.
      Terminal.say("open \(page)")
      guard opening else { return }
      let way = metadata.deviceAuthorizationEndpoint == nil ? "--no-browser" : "--device"
      Browser.open(page, insteadOf: "handstamp login --issuer \(shellWord(record.issuer)) \(way)")
    }
    let address = try record.redirect.map { text throws(CommandError) in try LoopbackAddress(redirect: text) }
    do throws(RedirectError) {
      guard let address else { return try await LoopbackReceiver.listen(open: open) }
      return try await LoopbackReceiver.listen(at: address, open: open)
    } catch {
      guard case .unavailable(let why) = error else { throw CommandError.cancelled }
      let hint =
        switch address?.port {
        case nil: hasDevice ? "use --device instead" : "quit programs that use ports of 127.0.0.1, then try again"
        case _? where record.registration != nil:
          "quit the program that uses the port, or pass another one with --redirect-port"
        case let port? where port < 1024:
          "register a redirect URI with a port from 1024, and pass it with --redirect-uri"
        case _?:
          "quit the program that uses the port, or register another redirect URI and pass it with --redirect-uri"
        }
      throw CommandError(.failure, why, hint: hint)
    }
  }

  private func byBrowser(
    _ receiver: LoopbackReceiver, within patience: Duration?, _ isLate: Locked<Bool>
  ) async throws(SessionError) -> TokenResponse {
    let limit = Task {
      guard let patience else { return }
      try await Task.sleep(for: patience)
      isLate.withLock { $0 = true }
      await receiver.close()
    }
    defer { limit.cancel() }
    return try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
  }

  private func onAnotherDevice(
    within patience: Duration?, _ isLate: Locked<Bool>
  ) async throws(SessionError) -> TokenResponse {
    let asking = Task { () -> Result<TokenResponse, SessionError> in
      do throws(SessionError) {
        return .success(
          try await backend.signInOnAnotherDevice { code in
            Terminal.say("open \(code.address) on any device and enter the code \(code.userCode)")
            if let address = code.completeAddress { Terminal.say("or open \(address)") }
          })
      } catch { return .failure(error) }
    }
    let limit = Task {
      guard let patience else { return }
      try await Task.sleep(for: patience)
      isLate.withLock { $0 = true }
      asking.cancel()
    }
    defer { limit.cancel() }
    return try await asking.value.get()
  }
}

/// Refusals of OAuth sign-ins. Most are fixed in the client's registration at the server, so they name the client and its
/// redirect URI.
extension OAuthSignIn {
  /// - Parameter patience: How long the command waited for the user, if it timed out.
  func refusal(_ error: SessionError, _ way: Way, within patience: Duration?) -> CommandError {
    switch error {
    case .cancelled:
      guard let patience else { return CommandError(error, server: server) }
      return late(way, after: patience)
    case .refused(let code, let detail): return refused(code, detail, way) ?? CommandError(error, server: server)
    case .requestFailed(.configuration(let response), _):
      guard let code = response.error, var refusal = refused(code, response.detail, way) else {
        return CommandError(error, server: server)
      }
      (refusal.exit, refusal.code) = (.configuration, code)
      return refusal
    case .invalidResponse:
      return CommandError(error, server: server).hinting("contact its operator; the client is \(client)")
    case .redirect where !hasDevice: return CommandError(error, server: server).hinting("run the same command again")
    case .unsupported(let what):
      return CommandError(
        .failure, "\(server.text) does not support this: \(plain(what))",
        hint: instead(of: way))
    default: return CommandError(error, server: server)
    }
  }

  /// The server does not register the command (RFC 7591 section 3.2.2).
  func unregistered(_ error: SessionError) -> CommandError {
    let words: String
    switch error {
    case .unsupported: words = "programs"
    case .refused(let code, let detail): words = "this program: \(plain(detail.map { "\(code), \($0)" } ?? code))"
    case .requestFailed(.configuration(let response), _): words = "this program: \(plain("\(response)"))"
    case .invalidResponse(let text): words = "this program: \(plain(text))"
    default: return CommandError(error, server: server)
    }
    return CommandError(
      .configuration, "\(server.text) does not register \(words)",
      hint: "register a public client there with the redirect URI \(record.redirectWords.onOneLine), "
        + "and pass its ID with --client-id", code: error.code)
  }

  var hasDevice: Bool { metadata.deviceAuthorizationEndpoint != nil }

  /// The way that the server does offer, and how to name the endpoint of the other.
  private func instead(of way: Way) -> String {
    switch way {
    case .browser where hasDevice: "use --device instead"
    case .device where metadata.authorizationEndpoint != nil:
      "use --browser instead, or name the endpoint with --endpoint device=URL if the server has one"
    case .browser: "name the sign-in page with --endpoint authorization=URL, and the other endpoints too"
    case .device: "name the endpoint with --endpoint device=URL if the server has one"
    }
  }

  private var client: String { record.client.onOneLine }

  private var step: String {
    "register the redirect URI \(record.redirectWords.onOneLine) for the client \(client) at \(server.text)"
  }

  private var registration: String { step + ", or pass registered ones with --client-id and --redirect-uri" }

  private func late(_ way: Way, after patience: Duration) -> CommandError {
    switch way {
    case .browser:
      CommandError(
        .cancelled, "the sign-in in the browser was not completed within \(patience.words)",
        hint: "if its page shows an error, \(step)" + (hasDevice ? "; or use --device" : ""))
    case .device:
      CommandError(
        .cancelled, "the code was not entered within \(patience.words)",
        hint: "run the same command again and enter the new code in time")
    }
  }

  private func refused(_ code: String, _ detail: String?, _ way: Way) -> CommandError? {
    let words = plain(detail.map { "\(code), \($0)" } ?? code)
    switch code {
    // The second is GitHub's, the others are Slack's.
    case "invalid_client", "incorrect_client_credentials", "bad_client_secret", "invalid_client_id":
      guard secret == nil else {
        return CommandError(
          .failure, "\(server.text) rejected the secret of client \(client): \(words)",
          hint: "pass a file with the correct secret with --client-secret-file, or send it otherwise with "
            + "--client-secret-in form or --client-secret-in header")
      }
      let address = way == .browser ? ", with the redirect URI \(record.redirectWords.onOneLine)" : ""
      return CommandError(
        .failure, "\(server.text) rejected the client \(client): \(words)",
        hint: "register it there as a public client\(address), pass another with --client-id, "
          + "or pass its secret with --client-secret-file"
          + (metadata.registrationEndpoint == nil ? "" : "; or let it register itself: handstamp login --register"))
    case "unauthorized_client", "unsupported_response_type", "unsupported_grant_type":
      return CommandError(
        .failure, "\(server.text) does not allow this sign-in method for the client \(client): \(words)",
        hint: way == .browser
          ? "allow the authorization code grant for it there" + (hasDevice ? ", or use --device" : "")
          : "allow the device code grant for it there, or use --browser")
    case "device_flow_disabled":
      return CommandError(
        .failure, "\(server.text) does not allow this sign-in method for the client \(client): \(words)",
        hint: "enable the device flow in its settings there, or use --browser")
    case "bad_verification_code", "invalid_code", "code_already_used", "incorrect_device_code":
      return CommandError(
        .failure, "\(server.text) no longer accepts the code of this sign-in: \(words)",
        hint: "run the same command again")
    case "unverified_user_email":
      return CommandError(
        .failure, "\(server.text) refused the sign-in: \(words)",
        hint: "verify the email address of your account at \(server.text), then run the same command again")
    case "invalid_request", "invalid_redirect_uri", "redirect_uri_mismatch", "bad_redirect_uri", "invalid_grant":
      guard way == .browser else { return nil }
      return CommandError(.failure, "\(server.text) refused the sign-in: \(words)", hint: registration)
    default: return nil
    }
  }
}

extension LoopbackAddress {
  /// Parses the redirect URI from the command line or a record.
  init(redirect text: String) throws(CommandError) {
    do throws(RedirectError) { self = try LoopbackAddress(parsing: text) } catch {
      let reason = if case .unavailable(let words) = error { words } else { "\(error)" }
      throw CommandError(
        .usage, "cannot listen on \(text.onOneLine): \(reason)",
        hint: "use the URI exactly as registered, such as http://127.0.0.1:8085/callback")
    }
  }
}
#endif
