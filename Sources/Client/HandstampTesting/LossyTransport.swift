public import HandstampCore
import HandstampSupport

/// A network that loses, doubles and delays requests on their way to another transport, by seed or on command.
///
/// ```swift
/// let network = LossyTransport(URLSessionTransport(), seed: 7, odds: .bad)   // as bad as on a train
/// network.expect(.responseLost)                                               // the next one, whatever the seed says
/// let server = ServerBackend(baseURL: url, device: device, transport: network)
/// ```
public final class LossyTransport: Transport {
  /// The fate of a request.
  public enum Fate: Sendable, Hashable {
    case carried
    /// The request never arrives: ``TransportError/timedOut``.
    case requestLost
    /// The request is carried out, but the response is lost: ``TransportError/timedOut``.
    case responseLost
    /// The request is carried out, then the connection breaks before the response: ``TransportError/connectionLost(_:)``.
    case connectionBroken
    /// The request arrives twice in a row; the first response is returned.
    case doubled
    /// The request is sent after this delay, by the transport's clock.
    case delayed(Duration)
    /// The request arrives, but this response is returned instead, as by a proxy or a captive portal.
    case answered(TransportResponse)
  }

  /// The probability of each fate, from 0 to 1. The remaining requests are carried normally.
  public struct Odds: Sendable, Hashable {
    public var requestLost: Double
    public var responseLost: Double
    public var doubled: Double
    public var delayed: Double
    /// The maximum delay; the minimum is zero.
    public var longestDelay: Duration

    public init(
      requestLost: Double = 0, responseLost: Double = 0, doubled: Double = 0, delayed: Double = 0,
      longestDelay: Duration = .seconds(5)
    ) {
      self.requestLost = requestLost
      self.responseLost = responseLost
      self.doubled = doubled
      self.delayed = delayed
      self.longestDelay = longestDelay
    }

    /// Everything arrives.
    public static let good = Odds()
    /// Every second request is lost or doubled.
    public static let bad = Odds(requestLost: 0.15, responseLost: 0.2, doubled: 0.15)
  }

  private struct Content: Sendable {
    var random: SplitMix64
    var expected: [Fate] = []
    var met: [Fate] = []
  }

  private let base: any Transport
  private let odds: Odds
  private let clock: any SessionClock
  private let content: Locked<Content>

  /// - Parameters:
  ///   - seed: Determines the fates in the order of requests.
  ///   - clock: The clock that measures delays; with a ``ManualClock``, delayed requests leave when the test advances
  ///     it.
  public init(
    _ base: any Transport, seed: UInt64 = 0, odds: Odds = .good, clock: any SessionClock = ManualClock()
  ) {
    self.base = base
    self.odds = odds
    self.clock = clock
    content = Locked(Content(random: SplitMix64(state: seed)))
  }

  /// Sets the fate of the next request; several calls queue up.
  public func expect(_ fate: Fate) { content.withLock { $0.expected.append(fate) } }

  /// The fates of all requests so far, in order.
  public var fates: [Fate] { content.withLock { $0.met } }

  @concurrent public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    switch draw() {
    case .carried: return try await base.send(request)
    case .requestLost: throw .timedOut
    case .responseLost:
      _ = try await base.send(request)
      throw .timedOut
    case .connectionBroken:
      _ = try await base.send(request)
      throw .connectionLost("reset")
    case .doubled:
      let response = try await base.send(request)
      do throws(TransportError) { _ = try await base.send(request) } catch {}
      return response
    case .delayed(let duration):
      do { try await clock.sleep(for: duration) } catch { throw .cancelled }
      return try await base.send(request)
    case .answered(let response):
      _ = try await base.send(request)
      return response
    }
  }

  /// A stream whose request or response is lost does not open; a doubled one opens once.
  @concurrent public func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    switch draw() {
    case .carried, .doubled: return try await base.open(request)
    case .requestLost, .responseLost, .connectionBroken: throw .timedOut
    case .delayed(let duration):
      do { try await clock.sleep(for: duration) } catch { throw .cancelled }
      return try await base.open(request)
    case .answered(let response):
      let (body, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
      continuation.yield(response.body)
      continuation.finish()
      return TransportStream(status: response.status, headers: response.headers, body: body)
    }
  }

  private func draw() -> Fate {
    let odds = odds
    return content.withLock { content in
      let fate = content.expected.isEmpty ? odds.draw(&content.random) : content.expected.removeFirst()
      content.met.append(fate)
      return fate
    }
  }
}

extension LossyTransport.Odds {
  fileprivate func draw(_ random: inout SplitMix64) -> LossyTransport.Fate {
    var rest = Double.random(in: 0..<1, using: &random)
    for (odds, fate) in [
      (requestLost, LossyTransport.Fate.requestLost), (responseLost, .responseLost), (doubled, .doubled),
    ] {
      if rest < odds { return fate }
      rest -= odds
    }
    if rest < delayed { return .delayed(longestDelay * Double.random(in: 0..<1, using: &random)) }
    return .carried
  }
}
