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
  ///
  /// An answer that is not this issuer's metadata ends nothing: a site that answers every path with a page of its own would
  /// hide the document that stands in the next place.
  ///
  /// - Throws: ``HandstampCore/SessionError/unreachable(retryAfter:)`` when a place may answer later;
  ///   ``HandstampCore/SessionError/invalidAnswer(_:)`` when some place has an answer and none is usable;
  ///   ``HandstampCore/SessionError/unsupported(_:)`` when there is nothing in any place. The text says what each answered.
  @concurrent func metadata() async throws(SessionError) -> ServerMetadata {
    if let known = found.withLock({ $0 }) { return known }
    let places = Address.metadata(of: issuer)
    guard !places.isEmpty else { throw .invalidAnswer("the issuer is no https address") }
    var answers: [String] = []
    var transient: SessionError?
    var isAnyUnusable = false
    for place in places {
      let name = Address.path(of: place)
      let answer: TransportResponse
      do throws(TransportError) {
        answer = try await transport.send(
          TransportRequest(
            method: "GET", url: place, headers: [HeaderField("Accept", "application/json")], answerLimit: 1 << 20))
      } catch {
        guard error == .tooLarge else { throw SessionError(error) }
        isAnyUnusable = true
        answers.append("\(name) is too large for metadata")
        continue
      }
      prover?.learn(from: answer.headers, of: place)
      switch answer.status {
      case 200:
        do throws(SessionError) {
          let metadata = try ServerMetadata(answer.body, of: issuer)
          found.withLock { $0 = metadata }
          return metadata
        } catch {
          guard case .invalidAnswer(let why) = error else { throw error }
          isAnyUnusable = true
          answers.append("\(name): \(why)")
        }
      case 429, 500...:
        if transient == nil { transient = .unreachable(retryAfter: answer.retryAfter) }
      default: answers.append("\(name) answers \(answer.status)")
      }
    }
    if let transient { throw transient }
    let all = answers.joined(separator: "; ")
    throw isAnyUnusable
      ? .invalidAnswer("no usable metadata: \(all)") : .unsupported("OAuth: there is no metadata: \(all)")
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
