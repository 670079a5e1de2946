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
  let metrics: ServerMetrics

  /// Verifies a token and applies the ends that it tells of. They are stored when this returns.
  ///
  /// - Throws: ``UpstreamEventSource/Refusal``, ``TokenError/keysUnavailable(_:)``, ``RegistryError``.
  /// - Returns: the `jti`.
  @discardableResult
  func apply(
    _ token: String, _ kind: UpstreamEventSource.Kind, from source: UpstreamEventSource, logger: Logger
  ) async throws -> String {
    let (event, ends) = try await source.ends(in: token, kind, at: clock.now)
    for (number, end) in ends.enumerated() {
      // Each of several events in a token counts as one.
      var end = end
      if number > 0 { end.event += " \(end.change.rawValue)" }
      switch try await registry.endSessions(upstream: end, now: clock.now) {
      case .repeated: metrics.update { $0.upstreamRepeats += 1 }
      case .applied(let outcome):
        metrics.update {
          if outcome.ended.isEmpty { $0.upstreamUnknown += 1 } else { $0.upstreamEnds += 1 }
        }
        recorder.recordEnd(outcome, logger: logger)
        logger.info(
          "Event of a provider applied",
          metadata: [
            "handstamp.provider": "\(source.id)", "handstamp.change": "\(end.change.rawValue)",
            "handstamp.count": "\(outcome.ended.count)",
          ])
      }
    }
    return event
  }

  /// Counts and logs a token that was refused; the token itself is not logged.
  func record(_ refusal: UpstreamEventSource.Refusal, from source: UpstreamEventSource, logger: Logger) {
    metrics.update { $0.upstreamRefusals += 1 }
    logger.warning(
      "Event of a provider refused",
      metadata: ["handstamp.provider": "\(source.id)", "handstamp.cause": "\(refusal.words)"])
  }
}

/// Receives the ends that providers announce: `/sign-in/with/{provider}/logout` (OpenID Connect Back-Channel Logout 1.0 section 2.5) and
/// `/sign-in/with/{provider}/events` (RFC 8935 section 2, and Apple's notifications). Every response but a refusal comes after the store's write.
struct UpstreamEndsController: Sendable {
  let ends: UpstreamEnds
  let limits: RequestLimits
  let bodyLimit: Int

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/sign-in/with/:provider/logout", use: logout)
    routes.post("/sign-in/with/:provider/events", use: receive)
  }

  @concurrent func logout(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let source = try source(context)
    let body = try await request.wholeBody(of: "application/x-www-form-urlencoded", upTo: bodyLimit)
    guard let token = try FormFields(body.readableBytesView)["logout_token"] else {
      throw ProblemError.invalidRequest("Missing: logout_token.")
    }
    if let refusal = try await refusal(of: token, .logout, from: source, request, context) {
      return .json(
        JSONText([("error", "invalid_request"), ("error_description", refusal.words)]), status: .badRequest)
    }
    return Response(status: .ok, headers: [.cacheControl: "no-store"])
  }

  @concurrent func receive(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let source = try source(context)
    let (token, kind): (String, UpstreamEventSource.Kind)
    if source.isApple, request.headers[.contentType]?.isMediaType("application/json") == true {
      (token, kind) = (try await request.json(upTo: bodyLimit).text("payload"), .apple)
    } else {
      let body = try await request.wholeBody(of: "application/secevent+jwt", upTo: bodyLimit)
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
