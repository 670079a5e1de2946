#if Command
import HandstampCore
import HandstampCommandLine
import HandstampOAuth
import HandstampTransports

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
