package import HandstampCore
import HandstampSupport

/// A client that has registered itself (RFC 7591 section 3.2.1).
package struct ClientInformation: Sendable, Hashable {
  package let id: String
  /// `nil` for a public client, which every program asks to be; a server may decide otherwise.
  package let secret: Secret?
  /// When the secret expires; `nil` if it does not.
  package let secretExpiresAt: UnixTime?
  /// Where the secret goes; `nil` as the server says.
  package let secretPlace: OAuthProvider.SecretPlace?
  /// The scopes that it may request; `nil` if the server did not say.
  package let scopes: [String]?

  /// `nil` for any other response.
  init?(_ response: TransportResponse) {
    // Characters of RFC 6749 appendix A.1 and A.2.
    func isVisible(_ text: String) -> Bool {
      text.utf8.count <= 4096 && text.utf8.allSatisfy { (32...126).contains($0) }
    }
    guard (200..<300).contains(response.status), let members = response.decoded([String: Member].self),
      let id = members["client_id"]?.word, isVisible(id)
    else { return nil }
    self.id = id
    let method = members["token_endpoint_auth_method"]?.word
    secret = method == "none" ? nil : members["client_secret"]?.word.flatMap { isVisible($0) ? Secret($0) : nil }
    let end = members["client_secret_expires_at"]?.number.flatMap {
      $0 > 0 ? UnixTime(seconds: Int64(min($0, 1e11))) : nil
    }
    secretExpiresAt = secret == nil ? nil : end
    let places: [String: OAuthProvider.SecretPlace] = ["client_secret_post": .form, "client_secret_basic": .header]
    secretPlace = method.flatMap { places[$0] }
    scopes = members["scope"]?.word.map { $0.split(separator: " ").map(String.init) }
  }
}

extension OAuthBackend {
  /// Registers a program as a public client with the scopes of ``client``, whatever its ID is (RFC 7591 section 3.1).
  ///
  /// - Parameter redirectURI: on this machine, with its port, which many servers compare.
  /// - Throws: ``SessionError/unsupported(_:)`` if the server registers no programs; ``SessionError/refused(code:detail:)`` with its
  ///   code, such as `invalid_client_metadata`.
  @concurrent package func register(
    as name: String, redirectURI: String
  ) async throws(SessionError) -> ClientInformation {
    let metadata = try await metadata()
    guard let endpoint = metadata.registrationEndpoint else {
      throw metadata.missing("registration_endpoint", for: "registration of programs")
    }
    let device = metadata.deviceAuthorizationEndpoint.map { _ in "urn:ietf:params:oauth:grant-type:device_code" }
    var document = JSONText([("client_name", name), ("token_endpoint_auth_method", "none")])
    document.add("redirect_uris", [redirectURI])
    document.add("grant_types", ["authorization_code", "refresh_token", device].compactMap(\.self))
    document.add("response_types", ["code"])
    if !client.scopes.isEmpty { document.add("scope", client.scopes.joined(separator: " ")) }
    let request = TransportRequest(
      method: "POST", url: endpoint,
      headers: [
        HeaderField("Accept", "application/json"), .uncompressed, HeaderField("Content-Type", "application/json"),
      ], body: document.finished, timeout: .seconds(20), maximumResponseSize: 1 << 20)
    let response: TransportResponse
    do throws(TransportError) { response = try await transport.send(request) } catch { throw SessionError(error) }
    if let registered = ClientInformation(response) { return registered }
    guard !(200..<300).contains(response.status) || response.decoded(TokenRefusal.self) != nil else {
      throw .invalidResponse("the response to the registration has no client_id")
    }
    throw SessionError(asking: response, at: time.now())
  }

  /// Whether the server says that it does not know the client (`invalid_client`). Asks for the tokens of a code that is none, because
  /// the page of a sign-in would tell only the user (RFC 6749 section 4.1.2.1).
  @concurrent package func isForgotten() async -> Bool {
    let fields = [
      ("grant_type", Secret("authorization_code")), ("code", Secret(Base64URL.encode(randomBytes(16)))),
      ("redirect_uri", Secret(client.redirectURI ?? "http://127.0.0.1/callback")),
      ("code_verifier", CodeProof().verifier),
    ]
    guard let metadata = try? await metadata(), let response = try? await post(fields, to: metadata.tokenEndpoint)
    else {
      return false
    }
    return StatusMeaning(response.status) != .passing
      && response.decoded(TokenRefusal.self)?.error == "invalid_client"
  }
}
