public import HandstampCore

/// Sends requests with tokens that are bound to a key: `Authorization: Bearer` becomes `DPoP`, and each request gets its own
/// proof (RFC 9449 section 7). If the server requires another nonce, or the device's clock is wrong, the request is repeated
/// once.
///
/// ```swift
/// let prover = DPoPProver(DPoPKey(key))
/// let identity = OAuthBackend(client, transport: transport, proving: prover)
/// let session = SessionManager(backend: identity, …, transport: DPoPTransport(transport, prover))
/// ```
///
/// Requests without a token, or with another kind of authorization, are sent unchanged.
public struct DPoPTransport: Transport {
  private let base: any Transport
  private let prover: DPoPProver

  /// Creates a transport that adds proofs of `prover` to the requests of `base`.
  public init(_ base: any Transport, _ prover: DPoPProver) {
    self.base = base
    self.prover = prover
  }

  @concurrent public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    try await proven(request, \.self) { request throws(TransportError) in try await base.send(request) }
  }

  @concurrent public func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await proven(request, \.self) { request throws(TransportError) in
      try await base.upload(request, fromFile: path)
    }
  }

  @concurrent public func download(
    _ request: TransportRequest, toFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await proven(request, \.self) { request throws(TransportError) in
      try await base.download(request, toFile: path)
    }
  }

  @concurrent public func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await proven(request, \.head) { request throws(TransportError) in try await base.open(request) }
  }

  /// Sends a request with a proof, and again if its refusal teaches something.
  private func proven<Answer>(
    _ request: TransportRequest, _ head: (Answer) -> TransportResponse,
    by send: (TransportRequest) async throws(TransportError) -> Answer
  ) async throws(TransportError) -> Answer {
    guard let token = DPoPTransport.token(of: request) else { return try await send(request) }
    var learned: Set<DPoPProver.Lesson> = []
    while true {
      let answer = try await send(try proven(request, token))
      guard let lesson = prover.lesson(of: head(answer), from: request.url), learned.insert(lesson).inserted else {
        return answer
      }
    }
  }

  private static func token(of request: TransportRequest) -> AccessToken? {
    guard let field = request.headers.first(named: "Authorization"), field.lowercased().hasPrefix("bearer ") else {
      return nil
    }
    return AccessToken(String(field.dropFirst("bearer ".count)))
  }

  private func proven(_ request: TransportRequest, _ token: AccessToken) throws(TransportError) -> TransportRequest {
    var request = request
    request.headers.removeAll { ["authorization", "dpop"].contains($0.name.lowercased()) }
    request.headers.append(HeaderField("Authorization", token.secret.withExposed { "DPoP " + $0 }))
    do throws(SessionError) {
      request.headers.append(
        HeaderField("DPoP", try prover.proof(method: request.method, url: request.url, token: token)))
    } catch { throw .notConnected("the DPoP key cannot sign") }
    return request
  }
}
