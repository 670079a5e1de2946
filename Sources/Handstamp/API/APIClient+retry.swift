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
  private struct Attempt {
    let result: Result<TransportResponse, APIError>
    /// The wait until the next attempt, and the uptime until which the result is remembered. `nil` unless it is a transient
    /// failure, as an error or a response.
    var retry: (wait: Duration, until: Duration)?
  }

  func respond(
    to request: TransportRequest, requiresAuth: Bool, retryPolicy policy: APIRetryPolicy?, in generation: UInt64
  ) async throws(APIError) -> TransportResponse {
    if requiresAuth {
      guard let origin = Origin(request.url), origin == Origin(baseURL.absoluteString) else {
        throw .invalidRequest("the URL is not of the account's own origin")
      }
    }
    let policy = request.mayRepeat ? policy ?? request.retryPolicy(default: options.retryPolicy) : .once
    var call = Call(request: request, requiresAuth: requiresAuth, policy: policy, generation: generation)
    guard policy.failureCacheLifetime > .zero else { return try await ask(&call, alone: false).result.get() }
    let fingerprint = memory.fingerprint(of: request)
    while true {
      switch await memory.enter(fingerprint, generation: generation, now: controller.clock.uptime()) {
      case .failed(let result): return try result.get()
      case .lead: return try await lead(&call, fingerprint)
      case .follow:
        let attempt = try await ask(&call, alone: true)
        guard let retry = attempt.retry else { return try attempt.result.get() }
        guard call.continues(after: retry.wait) else {
          memory.note(attempt.result, of: fingerprint, generation: generation, until: retry.until)
          return try attempt.result.get()
        }
        try await pause(retry.wait, call)
      }
    }
  }

  /// Sends the request for every caller that waits for the same one.
  private func lead(
    _ call: inout Call, _ fingerprint: FailureMemory.Fingerprint
  ) async throws(APIError) -> TransportResponse {
    var outcome = FailureMemory.Outcome.abandoned
    defer { memory.leave(fingerprint, generation: call.generation, outcome) }
    do throws(APIError) {
      let attempt = try await ask(&call, alone: false)
      if let retry = attempt.retry {
        outcome = .failed(attempt.result, until: retry.until)
      } else {
        outcome = .answered
      }
      return try attempt.result.get()
    } catch {
      // A cancelled call decides nothing; any other error of this caller says nothing about the API.
      if case .abandoned = outcome, error != .network(.cancelled) { outcome = .answered }
      throw error
    }
  }

  /// Makes one attempt and, unless it is `alone`, the remaining ones.
  private func ask(_ call: inout Call, alone: Bool) async throws(APIError) -> Attempt {
    while true {
      call.attempts += 1
      let attempt = try await step(call)
      guard let retry = attempt.retry, !alone, call.continues(after: retry.wait) else { return attempt }
      try await pause(retry.wait, call)
    }
  }

  /// Makes one attempt, and throws a failure that is not transient.
  private func step(_ call: Call) async throws(APIError) -> Attempt {
    let result: Result<TransportResponse, APIError>
    var retryAfter: Duration?
    do throws(APIError) {
      let response = try await attempt(call.request, requiresAuth: call.requiresAuth, in: call.generation)
      // A request that is sent once returns the response as it is.
      guard response.isTransientFailure, call.policy != .once else { return Attempt(result: .success(response)) }
      result = .success(response.remembered)
      retryAfter = response.retryDelay(at: controller.clock.now().wall)
    } catch {
      guard case .network(let cause) = error, cause.isTransient else { throw error }
      result = .failure(error)
    }
    let wait = call.policy.wait(
      afterAttempt: call.attempts, entropy: .random(in: .min ... .max), retryAfter: retryAfter)
    let memory = call.policy.memory(of: wait, isServers: retryAfter != nil)
    return Attempt(result: result, retry: (wait, controller.clock.uptime() + memory))
  }

  /// Waits; a sign-out ends the wait of a request that carries the session's token.
  private func pause(_ wait: Duration, _ call: Call) async throws(APIError) {
    let generation = call.requiresAuth ? call.generation : controller.requests.generation
    let done: Void? = try await controller.requests.run(in: generation) {
      [clock = controller.clock] () async throws(APIError) -> Void in
      do { try await clock.sleep(for: wait) } catch { throw .network(.cancelled) }
    }
    if done == nil, call.requiresAuth { throw .session(controller.fenceError) }
  }
}
