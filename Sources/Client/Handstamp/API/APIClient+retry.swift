import Foundation
import HandstampCore
import HandstampSupport

/// A call under its retry policy.
extension APIClient {
  /// Sends a request unchanged, with the credential, and returns the response, whatever its status.
  ///
  /// - Throws: ``APIError/invalidRequest(_:)`` if the URL is not of the origin of ``baseURL``.
  public func response(to request: TransportRequest) async throws(APIError) -> TransportResponse {
    try await response(to: request, requiresAuth: true)
  }

  /// Only a request that may be sent twice is retried: one with an idempotent method (RFC 9110 section 9.2.2), or with an
  /// `Idempotency-Key`.
  ///
  /// - Parameters:
  ///   - policy: `nil` for the client's policy where the method only reads, and for one attempt otherwise.
  ///   - generation: the session that the request, and its repetition after a 401, belong to: never a later one. `nil` for the
  ///     current one.
  func response(
    to request: TransportRequest, requiresAuth: Bool, retryPolicy policy: RetryPolicy? = nil,
    by transfer: Transfer = .whole, in generation: UInt64? = nil
  ) async throws(APIError) -> TransportResponse {
    let generation = generation ?? controller.requests.generation
    if requiresAuth {
      guard let origin, Origin(request.url) == origin else {
        throw .invalidRequest("the URL is not of the account's own origin")
      }
    }
    let policy = policy ?? (request.onlyReads ? options.retryPolicy : RetryPolicy(attempts: 1))
    let attempts = request.mayRepeat ? policy.attempts : 1
    var attempt = 1
    while attempt < attempts {
      let wait: Duration
      do throws(APIError) {
        let response = try await self.attempt(request, requiresAuth: requiresAuth, by: transfer, in: generation)
        guard response.isTransientFailure else { return response }
        let retryAfter = response.retryDelay(at: controller.clock.now().wall)
        wait = retryAfter ?? policy.delay(afterAttempt: attempt)
        // An earlier attempt than the server asks for would be refused again.
        guard wait <= policy.cap else { return response }
      } catch {
        guard case .network(let cause) = error, cause.isTransient else { throw error }
        wait = policy.delay(afterAttempt: attempt)
      }
      try await pause(wait, in: requiresAuth ? generation : nil)
      attempt += 1
    }
    return try await self.attempt(request, requiresAuth: requiresAuth, by: transfer, in: generation)
  }

  /// Waits; a sign-out ends the wait of a request that carries the session's token.
  private func pause(_ wait: Duration, in generation: UInt64?) async throws(APIError) {
    let done: Void? = try await controller.requests.run(in: generation ?? controller.requests.generation) {
      [clock = controller.clock] () async throws(APIError) -> Void in
      do { try await clock.sleep(for: wait) } catch { throw .network(.cancelled) }
    }
    if done == nil, generation != nil { throw .session(controller.fenceError) }
  }
}

extension RetryPolicy {
  fileprivate func delay(afterAttempt attempt: Int) -> Duration {
    delay(afterAttempt: attempt, entropy: .random(in: .min ... .max), retryAfter: nil)
  }
}

extension TransportRequest {
  var onlyReads: Bool { ["GET", "HEAD", "OPTIONS"].contains(method.uppercased()) }

  /// Whether repeating the request has no further effect.
  fileprivate var mayRepeat: Bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method.uppercased())
      || headers.first(named: "Idempotency-Key") != nil
  }
}

extension TransportResponse {
  /// Whether the same request may succeed later.
  var isTransientFailure: Bool { [408, 425, 429, 502, 503, 504].contains(status) }
}

extension TransportError {
  /// Whether the same request may succeed later.
  var isTransient: Bool {
    switch self {
    case .notConnected, .connectionLost, .timedOut: true
    case .cancelled, .tooLarge, .invalidRequest: false
    }
  }
}
