#if Programs
import Foundation
import HandstampCore

/// The status line of a token endpoint's answer, and the error code in its body if there is one.
struct TokenEndpointAnswer: Sendable, Hashable {
  var status: Int
  /// The `error` of RFC 6749 section 5.2; `nil`: the body holds none.
  var error: String?

  init(status: Int, error: String? = nil) {
    self.status = status
    self.error = error
  }

  fileprivate init(_ response: TransportResponse) {
    struct Body: Decodable { var error: String }
    let code = (try? JSONDecoder().decode(Body.self, from: Data(response.body)))?.error
    self.init(status: response.status, error: code.flatMap { $0.isEmpty ? nil : String($0.onOneLine.prefix(64)) })
  }
}

/// Sees the answers to one refresh. The session is told only whether to go on; a person is told the status as well.
final class RefreshWitness: Sendable {
  @TaskLocal static var current: RefreshWitness?

  private let last = Locked<TokenEndpointAnswer?>(nil)
  var answer: TokenEndpointAnswer? { last.withLock { $0 } }

  fileprivate func saw(_ response: TransportResponse) {
    last.withLock { $0 = TokenEndpointAnswer(response) }
  }
}

/// A transport that shows the answers to refreshes to the ``RefreshWitness`` of the task that sends them.
struct WitnessedTransport: Transport {
  let base: any Transport

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let response = try await base.send(request)
    // What is found out before (GET) says nothing about the token.
    if request.method == "POST" { RefreshWitness.current?.saw(response) }
    return response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
}
#endif
