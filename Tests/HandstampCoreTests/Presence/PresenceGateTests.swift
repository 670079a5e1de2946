import HandstampCore
import Testing

@Suite struct `A presence gate` {
  private func opened(_ policy: PresencePolicy, at uptime: Duration = .seconds(100)) -> PresenceGate {
    var gate = PresenceGate(policy)
    guard case .begin(let question) = gate.ask() else { return gate }
    _ = gate.confirmed(question, at: uptime)
    return gate
  }

  @Test(arguments: [PresencePolicy.perUse, .window(.seconds(60)), .untilExit])
  func `begins closed`(policy: PresencePolicy) {
    var gate = PresenceGate(policy)
    #expect(!gate.isOpen(at: .zero))
    #expect(gate.state(at: .zero) == .locked)
    #expect(gate.pass(at: .zero) == nil)
  }

  @Test func `that asks nobody is open`() {
    var gate = PresenceGate(.never)
    #expect(gate.isOpen(at: .zero) && gate.pass(at: .seconds(5)) != nil)
  }

  @Test func `for a window is open to its end, and not a tick longer`() {
    var gate = opened(.window(.seconds(60)))
    #expect(gate.isOpen(at: .seconds(100)))
    #expect(gate.remaining(at: .seconds(130)) == .seconds(30))
    #expect(gate.isOpen(at: .seconds(160) - .nanoseconds(1)))
    #expect(!gate.isOpen(at: .seconds(160)))
    #expect(gate.remaining(at: .seconds(160)) == nil)
    #expect(!PresenceGate(.window(.zero)).opened(at: .seconds(1)).isOpen)
    #expect(!PresenceGate(.window(.seconds(-1))).opened(at: .seconds(1)).isOpen)
  }

  @Test(arguments: [PresencePolicy.window(.seconds(60)), .untilExit])
  func `is closed for good by a clock that runs back`(policy: PresencePolicy) {
    // Before the opening, and within the window: either would make it last longer.
    for back in [Duration.seconds(99), .seconds(110)] {
      var gate = opened(policy)
      #expect(gate.isOpen(at: .seconds(150)))
      #expect(!gate.isOpen(at: back))
      #expect(!gate.isOpen(at: .seconds(155)))
    }
  }

  @Test func `until exit stays open`() {
    var gate = opened(.untilExit)
    #expect(gate.isOpen(at: .seconds(1_000_000)))
    #expect(gate.remaining(at: .seconds(1_000_001)) == nil)
  }

  @Test func `per use lets those through who waited, and nobody else`() throws {
    var gate = PresenceGate(.perUse)
    #expect(gate.ask() == .begin(1))
    #expect(gate.ask() == .join)
    #expect(gate.state(at: .zero) == .confirming)
    let pass = try #require(gate.confirmed(1, at: .seconds(1)))
    #expect(gate.accepts(pass))
    #expect(!gate.isOpen(at: .seconds(1)) && gate.pass(at: .seconds(1)) == nil)
    #expect(gate.ask() == .begin(2))
  }

  @Test(arguments: [PresencePolicy.perUse, .window(.seconds(60)), .untilExit])
  func `that was closed opens for no answer that comes late, and takes back every pass`(policy: PresencePolicy) throws {
    var gate = PresenceGate(policy)
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

  @Test func `stays closed when somebody says no, and may ask again`() {
    var gate = PresenceGate(.untilExit)
    #expect(gate.ask() == .begin(1))
    #expect(gate.end(1))
    #expect(!gate.end(1) && gate.confirmed(1, at: .zero) == nil)
    #expect(!gate.isOpen(at: .zero))
    #expect(gate.ask() == .begin(2))
  }
}

extension PresenceGate {
  /// This gate, opened at `uptime`, and whether it is open then.
  fileprivate func opened(at uptime: Duration) -> (gate: PresenceGate, isOpen: Bool) {
    var gate = self
    if case .begin(let question) = gate.ask() { _ = gate.confirmed(question, at: uptime) }
    return (gate, gate.isOpen(at: uptime))
  }
}
