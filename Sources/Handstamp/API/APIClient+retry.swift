import HandstampCore
import Foundation
import HandstampSupport

/// A call under its retry policy.
extension APIClient {
  /// The progress of a call.
  private struct Call {
    let request: TransportRequest
    let requiresAuth: Bool
    let policy: APIRetryPolicy
    let generation: UInt64
    var attempts = 0

    /// Whether another attempt follows a failure, `wait` later.
    func continues(after wait: Duration) -> Bool { attempts < policy.retry.attempts && wait <= policy.maxWait }
  }

  /// The result of an attempt.
  private enum Step {
    case answer(TransportResponse)
    /// A transient failure; the wait until the next attempt, and whether the server requested it.
    case failed(FailureMemory.Failure, wait: Duration, isServers: Bool)
  }

  func respond(
    to request: TransportRequest, requiresAuth: Bool, retryPolicy policy: APIRetryPolicy?, in generation: UInt64
  ) async throws(APIError) -> TransportResponse {
    if requiresAuth, Origin(request.url) == nil || Origin(request.url) != Origin(baseURL.absoluteString) {
      throw .invalidRequest("the URL is not of the account's own origin")
    }
    let policy = request.mayRepeat ? policy ?? request.retryPolicy(default: options.retryPolicy) : .once
    var call = Call(request: request, requiresAuth: requiresAuth, policy: policy, generation: generation)
    guard policy.failureCacheLifetime > .zero else {
      switch try await ask(&call, alone: false) {
      case .answer(let response): return response
      case .failed(let failure, _, _): return try failure.answer()
      }
    }
    let fingerprint = memory.fingerprint(of: request)
    while true {
      switch await memory.enter(fingerprint, generation: generation, now: controller.clock.uptime()) {
      case .failed(let failure): return try failure.answer()
      case .lead: return try await lead(&call, fingerprint)
      case .follow:
        switch try await ask(&call, alone: true) {
        case .answer(let response): return response
        case .failed(let failure, let wait, let isServers):
          guard call.continues(after: wait) else {
            memory.note(failure, of: fingerprint, generation: generation, until: until(wait, isServers, policy))
            return try failure.answer()
          }
          try await pause(wait, call)
        }
      }
    }
  }

  /// Sends the request for every caller that waits for the same one.
  private func lead(
    _ call: inout Call, _ fingerprint: FailureMemory.Fingerprint
  ) async throws(APIError) -> TransportResponse {
    var outcome = FailureMemory.Outcome.deserted
    defer { memory.leave(fingerprint, generation: call.generation, outcome) }
    do throws(APIError) {
      switch try await ask(&call, alone: false) {
      case .answer(let response):
        outcome = .answered
        return response
      case .failed(let failure, let wait, let isServers):
        outcome = .failed(failure, until: until(wait, isServers, call.policy))
        return try failure.answer()
      }
    } catch {
      // A cancelled call decides nothing; any other error of this caller says nothing about the API.
      if case .deserted = outcome, error != .network(.cancelled) { outcome = .answered }
      throw error
    }
  }

  /// Makes one attempt and, unless it is `alone`, the remaining ones.
  private func ask(_ call: inout Call, alone: Bool) async throws(APIError) -> Step {
    while true {
      call.attempts += 1
      let step = try await step(call)
      guard case .failed(_, let wait, _) = step, !alone, call.continues(after: wait) else { return step }
      try await pause(wait, call)
    }
  }

  private func step(_ call: Call) async throws(APIError) -> Step {
    let failure: FailureMemory.Failure
    var retryAfter: Duration?
    do throws(AttemptFailure) {
      let response = try await attempt(call.request, requiresAuth: call.requiresAuth, in: call.generation)
      guard response.failsInPassing else { return .answer(response) }
      // A request that is sent once returns the response as it is.
      if call.policy == .once { return .answer(response) }
      failure = FailureMemory.Failure(response)
      retryAfter = response.retryDelay(at: controller.clock.now().wall)
    } catch {
      guard case .transport(let error) = error, error.isInPassing else { throw error.asAPIError }
      failure = .noAnswer(error)
    }
    let wait = call.policy.wait(
      afterAttempt: call.attempts, entropy: .random(in: .min ... .max), retryAfter: retryAfter)
    return .failed(failure, wait: wait, isServers: retryAfter != nil)
  }

  private func until(_ wait: Duration, _ isServers: Bool, _ policy: APIRetryPolicy) -> Duration {
    controller.clock.uptime() + policy.memory(of: wait, isServers: isServers)
  }

  /// Waits; a sign-out ends the wait of a request that carries the session's token.
  private func pause(_ wait: Duration, _ call: Call) async throws(APIError) {
    let clock = controller.clock
    do throws(RequestFence.FenceFailure) {
      let generation = call.requiresAuth ? call.generation : controller.requests.generation
      try await controller.requests.run(in: generation) { () async throws(TransportError) in
        do { try await clock.sleep(for: wait) } catch { throw .cancelled }
      }
    } catch {
      switch error {
      case .transport(let error): throw .network(error)
      case .signedOut: if call.requiresAuth { throw signedOut }
      }
    }
  }
}

extension FailureMemory.Failure {
  func answer() throws(APIError) -> TransportResponse {
    switch self {
    case .noAnswer(let error): throw .network(error)
    case .status(let response): return response
    }
  }
}
