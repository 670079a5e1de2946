#if Programs
import HandstampCore
import HandstampLoopback

/// Why a sign-in by OAuth came to nothing. Most of these are settled where the client is registered: the refusal names the
/// client and its redirect address.
extension OAuthSignIn {
  /// - Parameter patience: how long the user was waited for, where that time is over.
  func refusal(_ error: SessionError, _ way: Way, within patience: Duration?) -> Refusal {
    switch error {
    case .cancelled:
      guard let patience else { return Refusal(error, server: server) }
      return late(way, after: patience)
    case .refused(let code, let detail): return refused(code, detail, way) ?? Refusal(error, server: server)
    case .invalidAnswer:
      let refusal = Refusal(error, server: server)
      return Refusal(refusal.code, refusal.message, hint: "tell its operator; the client is \(client)")
    case .unsupported(let what):
      return Refusal(
        .failure, "\(server.text) does not offer this: \(plain(what))",
        hint: way == .browser ? "use --device instead" : "use --browser instead")
    default: return Refusal(error, server: server)
    }
  }

  private var client: String { record.client.onOneLine }

  private var registration: String {
    "register the redirect address \(record.redirectWords.onOneLine) for the client \(client) at \(server.text), "
      + "or name those that are registered by --client-id and --redirect-uri"
  }

  private func late(_ way: Way, after patience: Duration) -> Refusal {
    switch way {
    case .browser:
      Refusal(
        .cancelled, "the browser did not come back within \(patience.words)",
        hint: "if its page shows an error, \(registration)")
    case .device:
      Refusal(
        .cancelled, "the code was not typed within \(patience.words)",
        hint: "run the same command again, and open the page in time")
    }
  }

  private func refused(_ code: String, _ detail: String?, _ way: Way) -> Refusal? {
    let words = plain(detail.map { "\(code), \($0)" } ?? code)
    switch code {
    case "invalid_client":
      guard secret == nil else {
        return Refusal(
          .failure, "\(server.text) does not accept the client \(client) with this secret: \(words)",
          hint: "name a file with the secret that was issued for it by --client-secret-file")
      }
      let address = way == .browser ? ", with the redirect address \(record.redirectWords.onOneLine)" : ""
      return Refusal(
        .failure, "\(server.text) does not accept the client \(client): \(words)",
        hint: "register it there as a public client\(address), name another by --client-id, "
          + "or its secret by --client-secret-file")
    case "unauthorized_client", "unsupported_response_type", "unsupported_grant_type":
      return Refusal(
        .failure, "\(server.text) does not let the client \(client) sign in in this way: \(words)",
        hint: way == .browser
          ? "allow the authorization code for it there, or use --device"
          : "allow the device code for it there, or use --browser")
    case "invalid_request", "invalid_redirect_uri", "redirect_uri_mismatch", "invalid_grant":
      guard way == .browser else { return nil }
      return Refusal(.failure, "\(server.text) refuses the sign-in: \(words)", hint: registration)
    default: return nil
    }
  }
}

extension LoopbackAddress {
  /// The redirect address that a user or a record names.
  init(redirect text: String) throws(Refusal) {
    do throws(Invalid) { self = try LoopbackAddress(parsing: text) } catch {
      throw Refusal(
        .usage, "\(text.onOneLine) cannot be listened on: \(error.reason)",
        hint: "write it as it is registered, such as http://127.0.0.1:8085/callback")
    }
  }
}
#endif
