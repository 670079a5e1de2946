#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// Applies the ends that providers announce, whether they are sent here or fetched.
struct UpstreamEnds: Sendable {
  let sources: [String: UpstreamEventSource]
  let registry: Registry
  let recorder: SessionEventRecorder
  let clock: ServerClock

  /// Verifies a token and applies the ends that it tells of. They are stored when this returns.
  ///
  /// - Parameter id: the `jti` that it must have; `nil` for any.
  /// - Throws: ``UpstreamEventSource/Refusal``, ``KeysUnavailable``, ``RegistryError``.
  func apply(
    _ token: String, _ kind: UpstreamEventSource.Kind, named id: String? = nil, from source: UpstreamEventSource,
    logger: Logger
  ) async throws {
    try await source.apply(token, kind, named: id, to: registry, at: clock.read(), logger: logger) { outcome in
      switch outcome {
      case .repeated: recorder.metrics.update { $0.upstreamRepeats += 1 }
      case .applied(let ended):
        recorder.metrics.update {
          if ended.isEmpty { $0.upstreamUnknown += 1 } else { $0.upstreamEnds += 1 }
        }
        recorder.recordEnd(ended, logger: logger)
      }
    }
  }

  /// Counts and logs a token that was refused; the token itself is not logged.
  func record(_ refusal: UpstreamEventSource.Refusal, from source: UpstreamEventSource, logger: Logger) {
    recorder.metrics.update { $0.upstreamRefusals += 1 }
    refusal.log(source, logger)
  }
}

extension UpstreamEventSource {
  /// Verifies a token and applies the ends that it tells of. They are stored when this returns.
  ///
  /// - Parameters:
  ///   - id: the `jti` that it must have; `nil` for any.
  ///   - applied: is called after each of them.
  /// - Throws: ``UpstreamEventSource/Refusal``, ``KeysUnavailable``, ``RegistryError``.
  func apply(
    _ token: String, _ kind: Kind, named id: String? = nil, to registry: Registry, at time: ServerClock.Reading,
    logger: Logger, applied: (UpstreamEndOutcome) -> Void = { _ in }
  ) async throws {
    let (event, ends) = try await ends(in: token, kind, at: time)
    guard id == nil || id == event else { throw Refusal(code: .invalid_request, words: "named by another jti") }
    for (number, end) in ends.enumerated() {
      // Each of several events in a token counts as one.
      var end = end
      if number > 0 { end.event += " \(end.change.rawValue)" }
      let outcome = try await registry.endSessions(upstream: end, now: time.now)
      applied(outcome)
      guard case .applied(let ended) = outcome else { continue }
      logger.info(
        "Event of a provider applied",
        metadata: [
          "handstamp.provider": "\(self.id)", "handstamp.change": "\(end.change.rawValue)",
          "handstamp.count": "\(ended.count)",
        ])
    }
  }
}

extension UpstreamEventSource.Refusal {
  /// The token itself is not logged.
  func log(_ source: UpstreamEventSource, _ logger: Logger) {
    logger.warning(
      "Event of a provider refused",
      metadata: ["handstamp.provider": "\(source.id)", "handstamp.cause": "\(words)"])
  }

  /// The response to a logout token (OpenID Connect Back-Channel Logout 1.0 section 2.8).
  var logoutResponse: Response {
    .json(JSONText([("error", "invalid_request"), ("error_description", words)]), status: .badRequest)
  }
}

extension Request {
  /// The token of a back-channel logout.
  func logoutToken(upTo limit: Int) async throws -> String {
    let body = try await wholeBody(of: "application/x-www-form-urlencoded", upTo: limit)
    guard let token = try? FormFields(body.readableBytesView)["logout_token"] else {
      throw ProblemError.invalidRequest("Missing: logout_token.")
    }
    return token
  }
}

extension Response {
  /// The response to a token that was applied.
  static var logoutApplied: Response { Response(status: .ok, headers: [.cacheControl: "no-store"]) }
}

/// Receives the ends that providers announce: `/sign-in/with/{provider}/logout` (OpenID Connect Back-Channel Logout 1.0 section 2.5) and
/// `/sign-in/with/{provider}/events` (RFC 8935 section 2, and Apple's notifications). Every response but a refusal comes after the store's write.
struct UpstreamEndsController: Sendable {
  let ends: UpstreamEnds
  let limits: RequestLimits

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/sign-in/with/:provider/logout", use: logout)
    routes.post("/sign-in/with/:provider/events", use: receive)
  }

  @concurrent func logout(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let source = try source(context)
    let token = try await request.logoutToken(upTo: limits.bodySize)
    let refusal = try await refusal(of: token, .logout, from: source, request, context)
    return refusal?.logoutResponse ?? .logoutApplied
  }

  @concurrent func receive(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let source = try source(context)
    let (token, kind): (String, UpstreamEventSource.Kind)
    if source.isApple, request.headers[.contentType]?.isMediaType("application/json") == true {
      (token, kind) = (try await request.json(upTo: limits.bodySize).text("payload"), .apple)
    } else {
      let body = try await request.wholeBody(of: "application/secevent+jwt", upTo: limits.bodySize)
      (token, kind) = (String(decoding: body.readableBytesView, as: UTF8.self), .event)
    }
    if let refusal = try await refusal(of: token, kind, from: source, request, context) {
      return .json(JSONText([("err", refusal.code.rawValue), ("description", refusal.words)]), status: .badRequest)
    }
    return Response(status: .accepted, headers: [.cacheControl: "no-store"])
  }

  private func source(_ context: some SessionRequestContext) throws(ProblemError) -> UpstreamEventSource {
    guard let id = context.parameters.get("provider"), let source = ends.sources[id] else { throw .notFound }
    return source
  }

  /// Applies a token. Refused ones are limited by the sender's address.
  private func refusal(
    of token: String, _ kind: UpstreamEventSource.Kind, from source: UpstreamEventSource, _ request: Request,
    _ context: some SessionRequestContext
  ) async throws -> UpstreamEventSource.Refusal? {
    do {
      try await ends.apply(token, kind, from: source, logger: context.logger)
      return nil
    } catch let refusal as UpstreamEventSource.Refusal {
      try limits.take(.clientFailures, from: limits.client(of: request, context))
      ends.record(refusal, from: source, logger: context.logger)
      return refusal
    }
  }
}
#endif
