#if Programs
import HandstampSupport
import HTTPTypes
import NIOCore
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Rate limits` {
  private let now = Locked(Duration.seconds(1000))

  private func limiter(_ rule: ServerLimits.Rule) -> RequestLimits {
    var limits = ServerLimits.none
    limits[.mails] = rule
    return RequestLimits(limits, bodySize: 0, behind: .none, metrics: ServerMetrics()) { [now] in now.withLock { $0 } }
  }

  private func client(_ text: String) throws -> ClientAddress {
    ClientAddress(of: [:], peer: try SocketAddress(ipAddress: text, port: 1), behind: .none)
  }

  /// Takes until it is refused; returns how often that succeeded, and the refusal.
  private func drain(
    _ limiter: RequestLimits, _ address: String = "192.0.2.1", about subject: String? = nil,
    _ buckets: RequestLimits.Buckets = [.own, .shared],
    atMost most: Int = 100
  ) throws -> (Int, ProblemError?) {
    for number in 0..<most {
      let client = try client(address)
      do throws(AccountError) { try limiter.take(.mails, from: client, about: subject, buckets) } catch {
        return (number, ProblemError(error))
      }
    }
    return (most, nil)
  }

  @Test func `admit a burst, then one per interval`() throws {
    let limiter = limiter(.init(perAddress: RateLimit(burst: 5, every: .seconds(10))))
    let (count, refusal) = try drain(limiter)
    #expect(count == 5)
    #expect(refusal?.retryAfter == 10)
    #expect(refusal?.headers[.rateLimit] == #""mails";r=0;t=10"#)
    now.withLock { $0 += .seconds(9) }
    #expect(try drain(limiter).1?.retryAfter == 1)
    now.withLock { $0 += .seconds(1) }
    #expect(try drain(limiter).0 == 1)
    now.withLock { $0 += .seconds(25) }
    #expect(try drain(limiter).0 == 2)
    now.withLock { $0 += .seconds(86_400) }
    #expect(try drain(limiter).0 == 5)
  }

  @Test func `count by address, and by 64 bits of an IPv6 address`() throws {
    let limiter = limiter(.init(perAddress: RateLimit(burst: 2, every: .seconds(10))))
    #expect(try drain(limiter, "192.0.2.1").0 == 2)
    #expect(try drain(limiter, "192.0.2.2").0 == 2)
    #expect(try drain(limiter, "2001:db8::1").0 == 2)
    #expect(try drain(limiter, "2001:db8::ffff").0 == 0)
    #expect(try drain(limiter, "2001:db8:0:1::1").0 == 2)
  }

  @Test func `count by subject and over all`() throws {
    let limiter = limiter(
      .init(
        perSubject: RateLimit(burst: 2, every: .seconds(10)), overall: RateLimit(burst: 3, every: .seconds(1))))
    #expect(try drain(limiter, about: "ada").0 == 2)
    #expect(try drain(limiter, about: "bob").0 == 1)
    #expect(try drain(limiter, about: "eve").1?.headers[.rateLimitPolicy] == #""mails";q=3;w=3"#)
    #expect(try drain(limiter, about: "zoe", .own).0 == 2)
  }

  @Test func `take nothing when one bucket is empty`() throws {
    let limiter = limiter(
      .init(perAddress: RateLimit(burst: 1, every: .seconds(100)), overall: RateLimit(burst: 3, every: .seconds(100))))
    #expect(try drain(limiter, "192.0.2.1", atMost: 50).0 == 1)
    #expect(try drain(limiter, "192.0.2.2").0 == 1)
    #expect(try drain(limiter, "192.0.2.3").0 == 1)
  }

  @Test func `do not remember more than is admitted`() throws {
    let limiter = limiter(
      .init(
        perAddress: RateLimit(burst: 1, every: .seconds(1)), overall: RateLimit(burst: 30_000, every: .milliseconds(1)))
    )
    for number in 0..<40_000 {
      let client = try client("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
      try? limiter.take(.mails, from: client)
    }
    #expect(limiter.count <= 30_001)
    now.withLock { $0 += .seconds(3600) }
    for number in 0..<25_000 {
      let client = try client("11.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
      try? limiter.take(.mails, from: client)
    }
    #expect(limiter.count <= 35_001)
  }

  @Test func `are none by default for what has no rule`() throws {
    #expect(try drain(RequestLimits(.none, bodySize: 0, behind: .none, metrics: ServerMetrics()) { .zero }).1 == nil)
  }
}
#endif
