import HandstampSupport

/// Why a request to the session's server has no usable response. None of these ends a session.
@nonexhaustive
public enum RequestError: Error, Sendable, Hashable {
  /// There was no response; the error contains the system's message and code.
  case network(TransportError)
  /// The response of the server, or of a gateway, a proxy or a captive portal in front of it, is an error, or not one of its
  /// protocol: a 429, a 5xx, an HTML page.
  case server(ServerResponse)
  /// The server does not accept the configuration of this client or its request. The same request fails until either side is
  /// changed. The codes:
  /// - RFC 6749 sections 4.1.2.1 and 5.2: `invalid_client`, `invalid_request`, `unauthorized_client`, `unsupported_grant_type`,
  ///   `unsupported_response_type`, `invalid_scope`
  /// - RFC 7009 section 2.2.1: `unsupported_token_type`
  /// - RFC 8707 section 2: `invalid_target`
  /// - RFC 9449 sections 5 and 8: `invalid_dpop_proof`; `use_dpop_nonce` only if the server asks for a nonce again after it was
  ///   supplied
  case configuration(ServerResponse)
  /// The access token of a token response cannot be used, for this reason, such as an unknown `token_type`.
  ///
  /// `successor` is the new refresh token of that response, which is stored and sent with the next refresh; `nil` if there is
  /// none. Set by backends; `nil` in the errors that apps get.
  case unusableTokens(String, successor: RefreshToken?)
  /// The server rejects something that depends on the time, and the device's clock differs from the server's by this much;
  /// positive if the device is ahead.
  case clock(Duration)
  /// For backends: the request was not sent because a step before it failed, such as fetching the server's metadata or signing
  /// with the DPoP key. Apps get the error of that step itself.
  indirect case preparation(SessionError)

  /// The facts of an error response.
  public struct ServerResponse: Sendable, Hashable {
    /// The HTTP status.
    public var status: Int
    /// The error code: `error` of RFC 6749 section 5.2, or `code` of a problem document (RFC 9457); cut to 100 characters.
    /// `nil` if the response has no code.
    public var error: String?
    /// The server's message for humans: `error_description`, or `detail` of a problem document; cut to 200 characters. `nil` if
    /// the response has no message.
    public var detail: String?
    /// Whether the endpoint itself has answered, and not something in between; `nil` if only the code tells.
    package var isFromEndpoint: Bool?
    /// Whether the code is one of the app's API, which says nothing of the session.
    package var isOfAPI = false

    public init(status: Int, error: String? = nil, detail: String? = nil) {
      self.status = status
      self.error = error.map { String($0.prefix(100)) }
      self.detail = detail.map { String($0.prefix(200)) }
    }
  }
}

extension RequestError {
  /// Classifies the error response of a token endpoint: `configuration` if its code says so, otherwise `server`.
  package init(_ response: ServerResponse) {
    self =
      response.error.map(RequestError.configurationErrors.contains) == true
      ? .configuration(response) : .server(response)
  }

  /// The codes of a server that cannot answer now.
  package static let passingErrors: Set = ["temporarily_unavailable", "server_error", "slow_down", "use_dpop_nonce"]

  /// The codes that a retry does not change.
  package static let configurationErrors: Set = [
    "invalid_client", "invalid_request", "unauthorized_client", "unsupported_grant_type", "unsupported_response_type",
    "invalid_scope", "invalid_target", "invalid_dpop_proof", "use_dpop_nonce", "unsupported_token_type",
  ]

  /// The state of an exchange that brought no usable response.
  package enum Exchange: Sendable, Hashable {
    /// The server has not acted on the request: no byte of it was sent, or the response is an error of RFC 6749 section 5.2.
    case withoutEffect
    /// No response can arrive any more, and the server may have acted on the request, or may do so still: the connection broke
    /// after everything received was read, or a complete response came from something else than the endpoint, such as a gateway.
    case over
    /// A response may still arrive: a time-out, or a cancellation.
    case open
  }

  package var exchange: Exchange {
    switch self {
    case .network(.notConnected), .network(.invalidRequest), .clock, .preparation: .withoutEffect
    case .network(.connectionLost), .unusableTokens: .over
    case .network: .open
    case .server(let response), .configuration(let response):
      response.isOfEndpoint && response.status < 500 ? .withoutEffect : .over
    }
  }

  /// The response that is the error; `nil` if it is another one.
  package var response: ServerResponse? {
    switch self {
    case .server(let response), .configuration(let response): response
    case .network, .unusableTokens, .clock, .preparation: nil
    }
  }

  /// Whether the endpoint itself has said that it does not do this, and not only that it cannot now.
  package var isEndpointRefusal: Bool {
    guard let response else { return false }
    return response.isOfEndpoint && StatusMeaning(response.status) != .passing
      && !(response.error.map(RequestError.passingErrors.contains) ?? false)
  }

  /// Whether another place than the endpoint has answered. It would answer the same for a while.
  package var isAstray: Bool {
    guard let response else { return false }
    return StatusMeaning(response.status) == .astray && !response.isOfEndpoint
  }
}

extension RequestError: HandstampError {
  public var code: String {
    switch self {
    case .network(let error): error.code
    case .server(let response): response.status == 429 ? "rate_limited" : "server_error"
    case .configuration(let response): response.error ?? "invalid_request"
    case .unusableTokens: "unusable_tokens"
    case .clock: "clock_skew"
    case .preparation(let error): error.code
    }
  }

  public var recovery: Recovery? {
    switch self {
    case .network(let error): error.recovery
    // The session's token may be one that the server no longer wants to take.
    case .server(let response):
      isEndpointRefusal && response.error != nil && !response.isOfAPI ? .signIn : .retry(after: nil)
    case .configuration, .unusableTokens: .fixConfiguration
    case .clock: .setClock
    case .preparation(let error): error.recovery
    }
  }
}

extension RequestError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .network(let error): error.description
    case .server(let response): "the server answered \(response)"
    case .configuration(let response): "the server does not accept this client's requests: \(response)"
    case .unusableTokens(let reason, _): "the server's tokens cannot be used: \(reason)"
    case .clock(let difference):
      "the clock of this device is \(abs(difference.wholeMilliseconds / 1000)) s "
        + "\(difference > .zero ? "ahead of" : "behind") the server's"
    case .preparation(let error): error.description
    }
  }
}

extension RequestError.ServerResponse {
  /// Whether the endpoint has answered in its own words.
  package var isOfEndpoint: Bool { isFromEndpoint ?? (error != nil) }
}

extension RequestError.ServerResponse: CustomStringConvertible {
  /// `503`, `400 invalid_client` or `400 invalid_client: the client is disabled`.
  public var description: String {
    var text = "\(status)"
    if let error { text += " \(error)" }
    if let detail { text += ": \(detail)" }
    return text
  }
}
