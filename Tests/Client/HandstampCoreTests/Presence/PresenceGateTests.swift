import HandstampCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A presence gate` {
  private func opened(_ policy: PresencePolicy) -> Door {
    let gate = Door(policy)
    #expect(gate.opened(at: .seconds(100)))
    return gate
  }

  @Test(arguments: [PresencePolicy.perUse, .window(.seconds(60)), .untilExit])
  func `starts closed`(policy: PresencePolicy) {
    let gate = Door(policy)
    #expect(!gate.isOpen(at: .zero))
    #expect(gate.state(at: .zero) == .locked)
    #expect(gate.pass(at: .zero) == nil)
  }

  @Test func `that never asks is open`() {
    let gate = Door(.never)
    #expect(gate.isOpen(at: .zero) && gate.pass(at: .seconds(5)) != nil)
  }

  @Test func `with a window stays open to its end, and not a tick longer`() {
    let gate = opened(.window(.seconds(60)))
    #expect(gate.isOpen(at: .seconds(100)))
    #expect(gate.remaining(at: .seconds(130)) == .seconds(30))
    #expect(gate.isOpen(at: .seconds(160) - .nanoseconds(1)))
    #expect(!gate.isOpen(at: .seconds(160)))
    #expect(gate.remaining(at: .seconds(160)) == nil)
    #expect(!Door(.window(.zero)).opened(at: .seconds(1)))
    #expect(!Door(.window(.seconds(-1))).opened(at: .seconds(1)))
  }

  @Test(arguments: [PresencePolicy.window(.seconds(60)), .untilExit])
  func `is closed for good by a clock that runs backwards`(policy: PresencePolicy) {
    // Before the opening, and inside the window: either would make it last longer.
    for back in [Duration.seconds(99), .seconds(110)] {
      let gate = opened(policy)
      #expect(gate.isOpen(at: .seconds(150)))
      #expect(!gate.isOpen(at: back))
      #expect(!gate.isOpen(at: .seconds(155)))
    }
  }

  @Test func `until exit stays open`() {
    let gate = opened(.untilExit)
    #expect(gate.isOpen(at: .seconds(1_000_000)))
    #expect(gate.remaining(at: .seconds(1_000_001)) == nil)
  }

  @Test func `per use lets through only the callers that waited`() throws {
    let gate = Door(.perUse)
    #expect(gate.ask() == .begin(1))
    #expect(gate.ask() == .join)
    #expect(gate.state(at: .zero) == .confirming)
    let pass = try #require(gate.confirmed(1, at: .seconds(1)))
    #expect(gate.accepts(pass))
    #expect(!gate.isOpen(at: .seconds(1)) && gate.pass(at: .seconds(1)) == nil)
    #expect(gate.ask() == .begin(2))
  }

  @Test(arguments: [PresencePolicy.perUse, .window(.seconds(60)), .untilExit])
  func `stays closed on a late answer, and revokes every pass`(policy: PresencePolicy) throws {
    let gate = Door(policy)
    #expect(gate.ask() == .begin(1))
    let pass = try #require(gate.confirmed(1, at: .seconds(1)))
    #expect(gate.accepts(pass))
    gate.close()
    #expect(!gate.accepts(pass) && !gate.isOpen(at: .seconds(1)))
    #expect(gate.ask() == .begin(2))
    gate.close()
    #expect(gate.confirmed(2, at: .seconds(2)) == nil)
    #expect(gate.ask() == .begin(3))
    gate.takeBack()
    #expect(gate.confirmed(3, at: .seconds(2)) == nil)
    #expect(!gate.isOpen(at: .seconds(2)))
  }

  @Test func `stays closed after a denial, and may ask again`() {
    let gate = Door(.untilExit)
    #expect(gate.ask() == .begin(1))
    #expect(gate.end(1))
    #expect(!gate.end(1) && gate.confirmed(1, at: .zero) == nil)
    #expect(!gate.isOpen(at: .zero))
    #expect(gate.ask() == .begin(2))
  }
}

/// A gate that an expectation can mutate.
private final class Door {
  private var gate: PresenceGate

  init(_ policy: PresencePolicy) { gate = PresenceGate(policy) }

  func isOpen(at uptime: Duration) -> Bool { gate.isOpen(at: uptime) }
  func state(at uptime: Duration) -> PresenceState { gate.state(at: uptime) }
  func remaining(at uptime: Duration) -> Duration? { gate.remaining(at: uptime) }
  func pass(at uptime: Duration) -> PresenceGate.Pass? { gate.pass(at: uptime) }
  func accepts(_ pass: PresenceGate.Pass) -> Bool { gate.accepts(pass) }
  func ask() -> PresenceGate.Asked { gate.ask() }
  func confirmed(_ number: UInt64, at uptime: Duration) -> PresenceGate.Pass? { gate.confirmed(number, at: uptime) }
  func end(_ number: UInt64) -> Bool { gate.end(number) }
  func takeBack() { gate.takeBack() }
  func close() { gate.close() }

  /// Whether it is open after presence was confirmed at `uptime`.
  func opened(at uptime: Duration) -> Bool {
    if case .begin(let question) = ask() { _ = confirmed(question, at: uptime) }
    return isOpen(at: uptime)
  }
}
