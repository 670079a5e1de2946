#if Exploration
import Foundation
import HandstampCore
import HandstampExploration
import Testing

/// The transitions as `docs/session-machine.md` lists them, which `scripts/dev diagram` writes.
struct DocumentedTransitions {
  typealias State = SessionMachine.StateName

  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  static func read() throws -> [State: Set<State>] {
    let text = try String(contentsOf: root.appendingPathComponent("docs/session-machine.md"), encoding: .utf8)
    var table: [State: Set<State>] = [:]
    for line in text.split(separator: "\n") {
      let cells = line.split(separator: "|").map(states)
      guard cells.count == 2, let state = cells[0].first else { continue }
      table[state] = Set(cells[1])
    }
    return table
  }

  /// The states that stand between backticks.
  static func states(in text: some StringProtocol) -> [State] {
    text.split(separator: "`").compactMap { State(rawValue: String($0)) }
  }
}

@Suite(.longComputation, .timeLimit(.minutes(10))) struct `The diagram of the session machine` {
  @Test func `lists every state`() throws {
    #expect(try Set(DocumentedTransitions.read().keys) == Set(SessionMachine.StateName.allCases))
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `has what random events lead to`(seed: UInt64) throws {
    let log = TransitionLog()
    log.expose(to: seed)
    let documented = try DocumentedTransitions.read()
    for (state, next) in log.transitions {
      #expect(next.isSubset(of: documented[state] ?? []), "\(state): \(next)")
    }
  }

  @Test func `agrees with the doc comments of the states`() throws {
    var commented: [SessionMachine.StateName: Set<SessionMachine.StateName>] = [:]
    for file in ["SessionMachine.swift", "SessionMachine+refreshState.swift"] {
      let source = DocumentedTransitions.root.appendingPathComponent("Sources/Client/HandstampCore/Machine/" + file)
      let text = try String(contentsOf: source, encoding: .utf8)
        .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        .map { $0.hasPrefix("///") ? String($0.dropFirst(3)) : "\n" }.joined()
      for part in text.split(separator: "Valid transitions from ").dropFirst() {
        let states = DocumentedTransitions.states(in: part.prefix { $0 != "." })
        commented[try #require(states.first)] = Set(states.dropFirst())
      }
    }
    #expect(try commented == DocumentedTransitions.read())
  }
}
#endif
