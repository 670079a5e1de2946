import Testing

@testable import Handstamp

typealias Link = StreamMachine.Link

@Suite(.timeLimit(.minutes(10))) struct `A live stream's machine` {
  private let one = Link(1)
  private let two = Link(2)
  private let three = Link(3)

  /// A machine whose first link has been open since zero.
  private func running(
    after position: String? = nil, options: StreamOptions = StreamOptions(), renewal: Duration? = nil
  ) -> StreamMachine {
    var machine = StreamMachine(options: options, after: position)
    _ = machine.handle(.start, at: .zero)
    _ = machine.handle(.opened(one, renewal: renewal), at: .zero)
    return machine
  }

  private func opens(_ effects: [StreamMachine.Effect]) -> [StreamMachine.Effect] {
    effects.filter { if case .open = $0 { true } else { false } }
  }

  private func wait(_ timer: StreamMachine.Timer, _ effects: [StreamMachine.Effect]) -> (UInt64, Duration)? {
    for case .startTimer(timer, let ticket, let delay) in effects { return (ticket, delay) }
    return nil
  }

  @Test func `resumes after the last id`() throws {
    var machine = running(after: "6")
    #expect(machine.handle(.message(one, id: "7"), at: .zero) == [.deliver])
    #expect(machine.handle(.passed(one, id: "8"), at: .zero) == [])
    let closing = machine.handle(.closed(one, .ended, entropy: 0), at: .seconds(1))
    let (ticket, _) = try #require(wait(.reopen, closing))
    let again = machine.handle(.timer(.reopen, ticket: ticket, entropy: 0), at: .seconds(2))
    #expect(opens(again) == [.open(two, after: "8", insteadOf: nil)])
  }

  @Test func `treats an empty id as none`() {
    var machine = running(after: "6")
    #expect(machine.handle(.message(one, id: ""), at: .zero) == [.deliver])
    #expect(machine.position == nil)
  }

  @Test func `opens the next link before it drops the one whose token expires`() throws {
    var machine = StreamMachine()
    _ = machine.handle(.start, at: .zero)
    let opened = machine.handle(.opened(one, renewal: .seconds(60)), at: .zero)
    let (ticket, delay) = try #require(wait(.renewal, opened))
    #expect(delay == .seconds(60))
    #expect(machine.handle(.message(one, id: "1"), at: .zero) == [.deliver])
    let renewing = machine.handle(.timer(.renewal, ticket: ticket, entropy: 0), at: .seconds(60))
    #expect(opens(renewing) == [.open(two, after: "1", insteadOf: one)])
    #expect(!renewing.contains(.close(one)))
    // The first link still serves.
    #expect(machine.handle(.message(one, id: "2"), at: .seconds(61)) == [.deliver])
    #expect(machine.handle(.opened(two, renewal: nil), at: .seconds(62)).first == .close(one))
    // Its messages come again, and only those are dropped; a late message of the closed link is ignored.
    #expect(machine.handle(.message(one, id: "3"), at: .seconds(62)) == [.ignored])
    #expect(machine.handle(.message(two, id: "2"), at: .seconds(62)) == [])
    #expect(machine.handle(.message(two, id: "3"), at: .seconds(62)) == [.deliver])
  }

  @Test func `keeps the old link while the new one fails`() throws {
    var machine = running(renewal: .zero)
    let due = machine.handle(.timer(.renewal, ticket: 3, entropy: 0), at: .zero)
    #expect(opens(due) == [.open(two, after: nil, insteadOf: one)])
    let failed = machine.handle(
      .closed(two, .refused(.refused(code: "status_403", detail: nil)), entropy: .max), at: .zero)
    let (ticket, delay) = try #require(wait(.reopen, failed))
    #expect(delay > .zero && delay <= .milliseconds(500))
    #expect(machine.handle(.message(one, id: "1"), at: .zero) == [.deliver])
    let again = machine.handle(.timer(.reopen, ticket: ticket, entropy: 0), at: .seconds(1))
    #expect(opens(again) == [.open(three, after: "1", insteadOf: one)])
  }

  @Test func `asks for presence once for the next link, and ends with the old one if it fails`() throws {
    var machine = StreamMachine()
    _ = machine.handle(.start, at: .zero)
    let opened = machine.handle(.opened(one, renewal: .seconds(60)), at: .zero)
    let (ticket, _) = try #require(wait(.renewal, opened))
    _ = machine.handle(.timer(.renewal, ticket: ticket, entropy: 0), at: .seconds(60))
    let declined = SessionError.presence(.declined)
    #expect(machine.handle(.closed(two, .refused(declined), entropy: 0), at: .seconds(61)) == [])
    #expect(machine.handle(.message(one, id: "1"), at: .seconds(62)) == [.deliver])
    let closing = machine.handle(.closed(one, .ended, entropy: 0), at: .seconds(90))
    #expect(closing == [.finish(.failed(declined))])
  }

  @Test func `remembers across a successor that breaks before it has caught up`() throws {
    var machine = running(after: "0", renewal: .zero)
    _ = machine.handle(.timer(.renewal, ticket: 3, entropy: 0), at: .zero)
    for id in ["1", "2", "3"] { #expect(machine.handle(.message(one, id: id), at: .zero) == [.deliver]) }
    _ = machine.handle(.opened(two, renewal: nil), at: .zero)
    #expect(machine.handle(.message(two, id: "0"), at: .zero) == [.deliver])  // a greeting
    #expect(machine.handle(.message(two, id: "1"), at: .zero) == [])
    let closing = machine.handle(.closed(two, .ended, entropy: 0), at: .zero)
    let (ticket, _) = try #require(wait(.reopen, closing))
    let again = machine.handle(.timer(.reopen, ticket: ticket, entropy: 0), at: .zero)
    #expect(opens(again) == [.open(three, after: "1", insteadOf: nil)])
    _ = machine.handle(.opened(three, renewal: nil), at: .zero)
    #expect(["2", "3"].map { machine.handle(.message(three, id: $0), at: .zero) } == [[], []])
    #expect(machine.handle(.message(three, id: "4"), at: .zero) == [.deliver])
  }

  @Test func `drops a repeated message only as often as the reader got it`() {
    var machine = running(after: "0", renewal: .zero)
    _ = machine.handle(.timer(.renewal, ticket: 3, entropy: 0), at: .zero)
    #expect(machine.handle(.message(one, id: "5"), at: .zero) == [.deliver])
    _ = machine.handle(.opened(two, renewal: nil), at: .zero)
    #expect(machine.handle(.message(two, id: "5"), at: .zero) == [])
    // A second message with the same id, as in a batch.
    #expect(machine.handle(.message(two, id: "5"), at: .zero) == [.deliver])
  }

  @Test func `drops a link that is silent for too long, to the instant`() throws {
    var machine = StreamMachine(options: StreamOptions(heartbeat: .seconds(10), missedHeartbeats: 3))
    _ = machine.handle(.start, at: .zero)
    let (first, silence) = try #require(wait(.watchdog, machine.handle(.opened(one, renewal: nil), at: .zero)))
    #expect(silence == .seconds(30))
    _ = machine.handle(.alive(one), at: .nanoseconds(1))
    let early = machine.handle(.timer(.watchdog, ticket: first, entropy: 0), at: .seconds(30))
    let (second, rest) = try #require(wait(.watchdog, early))
    #expect(rest == .nanoseconds(1))
    let late = machine.handle(.timer(.watchdog, ticket: second, entropy: 0), at: .seconds(30) + rest)
    #expect(late.first == .close(one))
    #expect(wait(.reopen, late) != nil)
  }

  @Test func `drops a link that does not open`() throws {
    var machine = StreamMachine()
    let (ticket, _) = try #require(wait(.opening, machine.handle(.start, at: .zero)))
    let late = machine.handle(.timer(.opening, ticket: ticket, entropy: 0), at: .seconds(45))
    #expect(late.first == .close(one))
    #expect(machine.handle(.opened(one, renewal: nil), at: .seconds(46)) == [.ignored])
  }

  @Test func `retries at once with another token after a refusal, then backs off`() throws {
    var machine = StreamMachine()
    _ = machine.handle(.start, at: .zero)
    let again = machine.handle(.closed(one, .unauthorized, entropy: 0), at: .zero)
    #expect(opens(again) == [.open(two, after: nil, insteadOf: one)])
    let third = machine.handle(.closed(two, .unauthorized, entropy: .max), at: .zero)
    #expect(opens(third).isEmpty)
    let (ticket, _) = try #require(wait(.reopen, third))
    let last = machine.handle(.timer(.reopen, ticket: ticket, entropy: 0), at: .seconds(1))
    #expect(opens(last) == [.open(three, after: nil, insteadOf: two)])
  }

  @Test func `honours the server's retry delay`() throws {
    var machine = running()
    _ = machine.handle(.retry(one, .seconds(7)), at: .zero)
    let (_, delay) = try #require(wait(.reopen, machine.handle(.closed(one, .ended, entropy: 0), at: .zero)))
    #expect(delay == .seconds(7))
    var other = StreamMachine()
    _ = other.handle(.start, at: .zero)
    let busy = other.handle(.closed(one, .unavailable(retryAfter: .seconds(40)), entropy: 0), at: .zero)
    #expect(try #require(wait(.reopen, busy)).1 == .seconds(40))
  }

  @Test func `backs off, and starts over after a link that held`() throws {
    var machine = StreamMachine(
      options: StreamOptions(retry: RetryPolicy(base: .seconds(1), cap: .seconds(8)), settling: .seconds(10)))
    _ = machine.handle(.start, at: .zero)
    var bounds: [Duration] = []
    func next(_ effects: [StreamMachine.Effect]) throws {
      let (ticket, delay) = try #require(wait(.reopen, effects))
      bounds.append(.seconds(Int64((delay / .seconds(1)).rounded(.up))))
      _ = machine.handle(.timer(.reopen, ticket: ticket, entropy: 0), at: .zero)
    }
    for number in 1...5 {
      try next(machine.handle(.closed(Link(UInt64(number)), .ended, entropy: .max), at: .zero))
    }
    #expect(bounds == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(8)])
    bounds = []
    _ = machine.handle(.opened(Link(6), renewal: nil), at: .zero)
    try next(machine.handle(.closed(Link(6), .ended, entropy: .max), at: .seconds(10) - .nanoseconds(1)))
    _ = machine.handle(.opened(Link(7), renewal: nil), at: .zero)
    try next(machine.handle(.closed(Link(7), .ended, entropy: .max), at: .seconds(10)))
    #expect(bounds == [.seconds(8), .seconds(1)])
  }

  @Test(arguments: [
    (StreamMachine.Closing.finished, StreamMachine.End.complete), (.refused(.tokenRejected), .failed(.tokenRejected)),
  ])
  func `ends if the server says so`(closing: StreamMachine.Closing, end: StreamMachine.End) {
    var machine = StreamMachine()
    _ = machine.handle(.start, at: .zero)
    #expect(machine.handle(.closed(one, closing, entropy: 0), at: .zero) == [.finish(end)])
    #expect(machine.handle(.start, at: .zero) == [.ignored])
  }

  @Test func `ends with the session, with its reason, and drops every link`() {
    var machine = running(renewal: .zero)
    _ = machine.handle(.timer(.renewal, ticket: 3, entropy: 0), at: .zero)
    let end = StreamMachine.End.failed(.signedOut(.revoked))
    #expect(machine.handle(.over(end), at: .zero) == [.close(one), .close(two), .finish(end)])
    #expect(machine.handle(.opened(two, renewal: nil), at: .zero) == [.ignored])
    #expect(machine.handle(.message(one, id: "9"), at: .zero) == [.ignored])
  }

  @Test func `requests another successor if one takes too long, within bounded memory`() {
    var machine = running(after: "0", renewal: .zero)
    _ = machine.handle(.timer(.renewal, ticket: 3, entropy: 0), at: .zero)
    var reopened: [StreamMachine.Effect] = []
    for number in 1...5000 { reopened += opens(machine.handle(.message(one, id: "\(number)"), at: .zero)) }
    #expect(reopened.count == 4)
    #expect(reopened.first == .open(three, after: "1024", insteadOf: one))
    #expect((machine.successor?.ahead.count ?? 0) < StreamMachine.mostAhead)
  }
}
