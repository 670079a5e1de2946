import Crypto
import Foundation
package import HandstampCore
import HandstampSupport

/// One sign-in by browser (RFC 6749 section 4.1 with RFC 7636): the URL to open, and the checks of the response. Valid for one
/// response; every sign-in creates a new flow.
public struct AuthorizationFlow: Sendable {
  /// The URL to open in the system's browser (RFC 8252 section 4).
  public let url: String
  /// The URI that the response is sent to.
  public let redirectURI: String
  let proof: CodeProof
  let nonce: String?
  private let state: String
  private let metadata: ServerMetadata

  /// The values that the response is checked with, for a caller that has to keep them until then.
  package struct Memory: Sendable {
    package var state: String
    package var nonce: String?
    package var verifier: Secret

    package init(state: String, nonce: String?, verifier: Secret) {
      self.state = state
      self.nonce = nonce
      self.verifier = verifier
    }
  }

  package var memory: Memory { Memory(state: state, nonce: nonce, verifier: proof.verifier) }

  /// - Parameters:
  ///   - hints: Parameters of this sign-in, which take the place of the client's.
  ///   - memory: that of an earlier flow, which continues; `nil` (the default) begins another one.
  init(
    client: OAuthClient, metadata: ServerMetadata, redirectURI: String, hints: [String: String] = [:],
    memory: Memory? = nil
  ) throws(SessionError) {
    guard let endpoint = metadata.authorizationEndpoint else {
      throw metadata.missing("authorization_endpoint", for: "sign-in by browser")
    }
    self.redirectURI = redirectURI
    proof = memory.map { CodeProof(verifier: $0.verifier) } ?? CodeProof()
    state = memory?.state ?? Base64URL.encode(randomBytes(16))
    let isOpenID = client.scopes.contains("openid")
    nonce = memory.map(\.nonce) ?? (isOpenID ? Base64URL.encode(randomBytes(16)) : nil)
    self.metadata = metadata
    var fields = [
      ("response_type", "code"), ("client_id", client.id), ("redirect_uri", redirectURI), ("state", state),
      ("code_challenge", proof.challenge), ("code_challenge_method", "S256"),
    ]
    if !client.scopes.isEmpty { fields.append((client.traits.scopeField, client.scopes.joined(separator: " "))) }
    if let nonce { fields.append(("nonce", nonce)) }
    fields += client.extras(hints)
    url = Address.adding(fields, to: endpoint)
  }

  /// Returns the code in the URL that the browser was redirected to.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)`` if the response belongs to another request (`state`, RFC 6749
  ///   section 10.12) or comes from another server (`iss`, RFC 9207 section 2.4);
  ///   ``SessionError/refused(code:detail:)`` with the server's code, such as `access_denied`.
  func code(in callback: Secret) throws(SessionError) -> Secret {
    try callback.withExposed { text throws(SessionError) in try code(in: text) }
  }

  private func code(in callback: String) throws(SessionError) -> Secret {
    let fields = try RedirectFields.fields(of: callback, to: redirectURI, naming: AuthorizationFlow.parameters)
    guard let state = fields["state"] else {
      // It could come from anywhere; nothing is taken from it but the words.
      if fields["code"] == nil, let error = fields["error"] {
        throw .refused(code: error, detail: fields["error_description"])
      }
      throw .invalidResponse("the response has no state")
    }
    guard Secret(state) == Secret(self.state) else {
      throw .invalidResponse("the response belongs to another request")
    }
    if let issuer = fields["iss"] {
      guard metadata.isNamed(issuer, tenant: nil) else {
        throw .invalidResponse("the response comes from another server")
      }
    } else if metadata.namesIssuerInResponses {
      throw .invalidResponse("the response does not name its issuer, although the metadata says that it does")
    }
    if let error = fields["error"] { throw .refused(code: error, detail: fields["error_description"]) }
    guard let code = fields["code"], !code.isEmpty else { throw .invalidResponse("the response has no code") }
    return Secret(code)
  }

  /// Those that count; all others are ignored (RFC 6749 section 4.1.2).
  private static let parameters: Set = ["code", "state", "iss", "error", "error_description"]

  /// The scheme that ``HandstampCore/RedirectReceiver`` waits for.
  var callbackScheme: String { RedirectFields.scheme(of: redirectURI) }
}

/// A proof key for one authorization request (RFC 7636): the challenge goes through the browser, the verifier never does.
struct CodeProof: Sendable {
  /// 43 characters: 32 random bytes.
  let verifier: Secret

  init() { verifier = Secret(Base64URL.encode(randomBytes(32))) }

  init(verifier: Secret) { self.verifier = verifier }

  /// `S256`: the verifier's SHA-256.
  var challenge: String {
    verifier.withExposedBytes { Base64URL.encode(SHA256.hash(data: $0)) }
  }
}
