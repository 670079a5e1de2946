#if Server
import HandstampRegistry
import HandstampSupport

/// An app's authorization request (RFC 6749 section 4.1.1).
struct AuthorizationRequest: Sendable {
  enum Fault: Error, Sendable {
    /// Shown on a page: the client or its redirect URI is not known, so the browser must not be sent back.
    case page(String)
    /// Reported to the app.
    case answer(redirect: String, state: String?, error: String, words: String)
  }

  let client: ConfiguredClient
  let grant: CodeGrant
  let state: String?
  let signIn: SignInWish

  init(query: String, clients: ClientDirectory) throws(Fault) {
    let fields: FormBody
    do throws(FormBody.Fault) { fields = try FormBody(Array(query.utf8)) } catch {
      throw .page("The app's request is not valid: a parameter is repeated or malformed.")
    }
    guard let id = fields["client_id"], let client = clients[id], client.flows.contains(.code) else {
      throw .page("This app is not registered with this server.")
    }
    // Only exact matches: a browser that is sent elsewhere takes the code there (RFC 9700 section 4.1).
    guard let redirect = fields["redirect_uri"], client.allows(redirect: redirect) else {
      throw .page("The app's return address is not registered with this server.")
    }
    let state = fields["state"]
    func refuse(_ error: String, _ words: String) -> Fault {
      .answer(redirect: redirect, state: state, error: error, words: words)
    }
    guard fields["request"] == nil else { throw refuse("request_not_supported", "request objects are not supported") }
    guard fields["request_uri"] == nil else {
      throw refuse("request_uri_not_supported", "request objects are not supported")
    }
    guard let type = fields["response_type"] else { throw refuse("invalid_request", "response_type is missing") }
    guard type == "code" else { throw refuse("unsupported_response_type", "only response_type=code is supported") }
    guard fields["response_mode"].map({ $0 == "query" }) ?? true else {
      throw refuse("invalid_request", "only response_mode=query is supported")
    }
    // RFC 7636 section 4.3: without a method it is `plain`.
    guard fields["code_challenge_method"] == "S256", let challenge = fields["code_challenge"],
      challenge.utf8.count == 43, Base64URL.decode(Array(challenge.utf8)) != nil
    else { throw refuse("invalid_request", "a code_challenge with method S256 is required") }
    guard let scope = client.granted(fields["scope"]) else {
      throw refuse("invalid_scope", "the client may not request this scope")
    }
    let resource: String?
    do throws(OAuthError) { resource = try fields.resource() } catch {
      throw refuse(error.error, error.description ?? "")
    }
    guard resource.map({ client.audiences.contains($0) }) ?? true else {
      throw refuse("invalid_target", "the client may not request this resource")
    }
    do throws(SignInWish.Fault) { signIn = try SignInWish(fields) } catch {
      throw refuse("invalid_request", error.words)
    }
    self.client = client
    self.state = state
    grant = CodeGrant(
      client: client.id, clientName: client.name, redirectURI: redirect, challenge: challenge, scope: scope,
      audience: resource, thumbprint: fields["dpop_jkt"])
  }

  /// Returns the redirect URI with the response parameters, which always include the issuer (RFC 9207).
  static func answer(_ fields: [(String, String?)], to redirect: String, state: String?, issuer: String) -> String {
    let all = fields + [("state", state), ("iss", issuer)]
    let query = all.compactMap { name, value in value.map { escaped(name) + "=" + escaped($0) } }
    return redirect + (redirect.contains("?") ? "&" : "?") + query.joined(separator: "&")
  }

  /// Percent-encodes everything but unreserved characters (RFC 3986 section 2.3).
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        escaped.unicodeScalars.append(Unicode.Scalar(byte))
      default: escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }
    return escaped
  }
}
#endif
