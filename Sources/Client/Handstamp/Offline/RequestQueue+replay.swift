import HandstampCore

/// Sends the requests in the queue.
extension RequestQueue {
  /// Sends the requests in order until the queue is empty or a request has to wait. Concurrent callers get the same report.
  @discardableResult
  public func replay() async -> ReplayReport {
    if let replaying { return await replaying.value }
    let task = Task { await self.sendAll() }
    replaying = task
    return await task.value
  }

  /// Replays at once, whenever a request is added, when a user signs in, and after a failure with the back-off of `retry`.
  /// Returns when its task is cancelled. Run it once; when the network comes back, call ``replay()``.
  public func run(retry: RetryPolicy = RetryPolicy(base: .seconds(1), cap: .seconds(300))) async {
    let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    wake = continuation
    let watching = Task { [controller = api.controller] in
      for await state in controller.states { if case .signedIn = state { continuation.yield() } }
    }
    continuation.yield()
    var failures = 0
    var timer: Task<Void, Never>?
    for await _ in wakes {
      timer?.cancel()
      guard case .unreachable(let retryAfter)? = await replay().stop else {
        failures = 0
        continue
      }
      failures += 1
      let wait = retry.delay(afterAttempt: failures, entropy: .random(in: .min ... .max), retryAfter: retryAfter)
      timer = Task { [clock = api.controller.clock] in
        if (try? await clock.sleep(for: wait)) != nil { continuation.yield() }
      }
    }
    timer?.cancel()
    watching.cancel()
    wake = nil
  }

  private func sendAll() async -> ReplayReport {
    defer { replaying = nil }
    var result = ReplayReport()
    do throws(QueueError) { try await load() } catch {
      if case .storage(let trouble) = error { result.stop = .storage(trouble) }
      return result
    }
    while let next = waiting.first {
      // The generation before the state: if it is unchanged when the request is sent, so is the account.
      let generation = api.controller.requests.generation
      guard case .signedIn(let facts) = api.controller.state, facts.profile?.id == account else {
        result.stop = .otherAccount
        return result
      }
      sending = next.id
      let answer: Result<TransportResponse, APIError>
      do throws(APIError) {
        answer = .success(
          try await api.response(
            to: next.request, requiresAuth: true, retryPolicy: RetryPolicy(attempts: 1), in: generation))
      } catch {
        answer = .failure(error)
      }
      sending = nil
      // Cleared meanwhile: the response is discarded.
      guard waiting.first?.id == next.id else { continue }
      switch Verdict(answer, now: api.controller.clock.now().wall) {
      case .stop(let stop):
        waiting[0].attempts += 1
        result.stop = stop
        return result
      case .sent(let response):
        result.sent.append(next.id)
        forgetFirst(&result)
        await report(.sent(next, response))
      case .refused(let response):
        result.refused.append(next.id)
        forgetFirst(&result)
        await report(.refused(next, response))
      }
      if result.stop != nil { return result }
    }
    return result
  }

  /// Removes a request whose removal cannot be written from memory; after a restart it would be sent again, with the same key.
  private func forgetFirst(_ result: inout ReplayReport) {
    let rest = Array(waiting.dropFirst())
    do throws(QueueError) { try save(rest) } catch {
      waiting = rest
      if case .storage(let trouble) = error { result.stop = .storage(trouble) }
    }
  }
}

/// The effect of a response on a queued request.
private enum Verdict {
  case sent(TransportResponse)
  case refused(TransportResponse?)
  case stop(ReplayReport.Stop)

  init(_ answer: Result<TransportResponse, APIError>, now: UnixTime) {
    switch answer {
    case .success(let response):
      switch response.status {
      case 200..<300: self = .sent(response)
      case 300..<500 where !response.isTransientFailure && response.status != 401: self = .refused(response)
      default: self = .stop(.unreachable(retryAfter: response.retryDelay(at: now)))
      }
    case .failure(.session(.requestFailed(_, let retryAfter))): self = .stop(.unreachable(retryAfter: retryAfter))
    case .failure(.session(let error)): self = .stop(.paused(error))
    case .failure(.network(.tooLarge)), .failure(.network(.invalidRequest)), .failure(.invalidRequest):
      self = .refused(nil)
    case .failure: self = .stop(.unreachable(retryAfter: nil))
    }
  }
}
