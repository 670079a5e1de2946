import HandstampCore

/// Finds a server's metadata once, and keeps it for the life of the program.
final class MetadataSource: Sendable {
  private let issuer: String
  private let transport: any Transport
  private let prover: DPoPProver?
  private let found = Locked<ServerMetadata?>(nil)

  init(issuer: String, transport: any Transport, prover: DPoPProver?) {
    self.prover = prover
    self.issuer = issuer
    self.transport = transport
  }

  /// Several that ask at once may fetch it several times; the outcome is the same.
  @concurrent func metadata() async throws(SessionError) -> ServerMetadata {
    if let known = found.withLock({ $0 }) { return known }
    let places = Address.metadata(of: issuer)
    guard !places.isEmpty else { throw .invalidAnswer("the issuer is no https address") }
    var failure = SessionError.unreachable(retryAfter: nil)
    for place in places {
      let request = TransportRequest(
        method: "GET", url: place, headers: [HeaderField("Accept", "application/json")], answerLimit: 1 << 20)
      let answer: TransportResponse
      do throws(TransportError) { answer = try await transport.send(request) } catch { throw SessionError(error) }
      prover?.learn(from: answer.headers, of: place)
      switch answer.status {
      case 200:
        let metadata = try ServerMetadata(answer.body, of: issuer)
        found.withLock { $0 = metadata }
        return metadata
      case 429, 500...: failure = .unreachable(retryAfter: answer.retryAfter)
      default: failure = .unsupported("OAuth: there is no metadata at the issuer's address")
      }
    }
    throw failure
  }
}

extension SessionError {
  init(_ error: TransportError) {
    switch error {
    case .cancelled: self = .cancelled
    case .notConnected, .unreachable, .timedOut: self = .unreachable(retryAfter: nil)
    case .tooLarge: self = .invalidAnswer("the answer was too large")
    case .invalidRequest(let text): self = .invalidAnswer(text)
    }
  }
}

extension TransportResponse {
  /// `Retry-After` in seconds (RFC 9110 section 10.2.3).
  var retryAfter: Duration? {
    header("Retry-After").flatMap { Int64($0) }.flatMap { $0 >= 0 ? .seconds(min($0, 86_400)) : nil }
  }
}
