#if Server
import Foundation
import HandstampRegistry

/// What an app asks a browser to bring about (RFC 6749 section 4.1.1).
struct AuthorizationRequest: Sendable {
  enum Fault: Error, Sendable {
    /// The browser must not be sent back: who asks, or where to, is not known.
    case page(String)
    /// The app hears of it.
    case answer(redirect: String, state: String?, error: String, words: String)
  }

  let client: ConfiguredClient
  let grant: CodeGrant
  let state: String?

  init(query: String, clients: [String: ConfiguredClient]) throws(Fault) {
    let fields: FormBody
    do throws(FormBody.Fault) { fields = try FormBody(Array(query.utf8)) } catch {
      throw .page("The app's request is not valid: a parameter came twice, or cannot be read.")
    }
    guard let id = fields["client_id"], let client = clients[id], client.flows.contains(.code) else {
      throw .page("The app is not known here.")
    }
    // Never guessed: a browser that is sent elsewhere takes the code there (RFC 9700 section 4.1).
    guard let redirect = fields["redirect_uri"], client.allows(redirect: redirect) else {
      throw .page("The app's address is not the one that is known here.")
    }
    let state = fields["state"]
    func refuse(_ error: String, _ words: String) -> Fault {
      .answer(redirect: redirect, state: state, error: error, words: words)
    }
    guard fields["request"] == nil else { throw refuse("request_not_supported", "no request objects") }
    guard fields["request_uri"] == nil else { throw refuse("request_uri_not_supported", "no request objects") }
    guard let type = fields["response_type"] else { throw refuse("invalid_request", "response_type is missing") }
    guard type == "code" else { throw refuse("unsupported_response_type", "code alone") }
    guard fields["response_mode"].map({ $0 == "query" }) ?? true else {
      throw refuse("invalid_request", "response_mode query alone")
    }
    // RFC 7636 section 4.3: without a method it is `plain`.
    guard fields["code_challenge_method"] == "S256", let challenge = fields["code_challenge"],
      challenge.utf8.count == 43, Base64URL.decode(Array(challenge.utf8)) != nil
    else { throw refuse("invalid_request", "a code_challenge of method S256 is needed") }
    guard let scope = client.granted(fields["scope"]) else { throw refuse("invalid_scope", "more than it may have") }
    let resource = fields["resource"]
    guard resource.map({ client.audiences.contains($0) }) ?? true else {
      throw refuse("invalid_target", "no API of this client")
    }
    guard fields["prompt"] != "none" else { throw refuse("interaction_required", "somebody must be asked") }
    self.client = client
    self.state = state
    grant = CodeGrant(
      client: client.id, clientName: client.name, redirectURI: redirect, challenge: challenge, scope: scope,
      audience: resource, thumbprint: fields["dpop_jkt"])
  }

  /// Where the browser goes with an answer; the issuer is named in each (RFC 9207).
  static func answer(_ fields: [(String, String?)], to redirect: String, state: String?, issuer: String) -> String {
    let all = fields + [("state", state), ("iss", issuer)]
    let query = all.compactMap { name, value in value.map { escaped(name) + "=" + escaped($0) } }
    return redirect + (redirect.contains("?") ? "&" : "?") + query.joined(separator: "&")
  }

  private static func escaped(_ text: String) -> String {
    let free = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    return text.addingPercentEncoding(withAllowedCharacters: free) ?? ""
  }
}
#endif
