#if Exploration
package import HandstampCore
import HandstampSupport

/// Collects the transitions of all machines of all worlds that descend from one. Equal to every other log, so that it does not
/// tell worlds apart.
package final class TransitionLog: Sendable, Hashable {
  package typealias State = SessionMachine.StateName

  private let seen = Locked<[State: Set<State>]>([:])

  package init() {}

  /// Explores the scenarios without planted faults, with the limits of the tests, plays some histories, and exposes single
  /// machines to as many storms of events, which no server and no vault would cause.
  package static func explored(seeds: UInt64 = 1000) -> TransitionLog {
    let log = TransitionLog()
    for scenario in Scenario.all where scenario.hasNoFault {
      _ = scenario.small.explored(log: log)
    }
    for seed in 0..<seeds {
      _ = Simulation(seed: seed, faults: []) { $0.log = log }
      log.expose(to: seed)
    }
    return log
  }

  /// Collects what a machine does in a storm of events.
  package func expose(to seed: UInt64) {
    var storm = RandomEvents(seed: seed)
    storm.log = self
    for _ in 0..<500 { storm.step() }
  }

  /// The states that follow each state, itself excluded.
  package var transitions: [State: Set<State>] { seen.withLock { $0 } }

  func note(_ old: State, _ new: State) {
    guard old != new else { return }
    seen.withLock { _ = $0[old, default: []].insert(new) }
  }

  package static func == (left: TransitionLog, right: TransitionLog) -> Bool { true }
  package func hash(into hasher: inout Hasher) {}
}

extension TransitionLog {
  /// One line for each state: `| sending | saving, … |`.
  package var table: String {
    State.allCases.map { state in
      let next = (transitions[state] ?? []).sorted().map { "`\($0.rawValue)`" }.joined(separator: ", ")
      return "| `\(state.rawValue)` | \(next.isEmpty ? "–" : next) |"
    }.joined(separator: "\n")
  }

  /// The graph in the DOT language. What can follow every state of a refresh is drawn once, from their box.
  package var graph: String {
    let refresh: Set<State> = [
      .locking, .checkingHolder, .preparing, .notingReading, .sending, .saving, .rejecting, .checkingRollback, .pausing,
      .withdrawing,
    ]
    let live = refresh.union([.idle])
    var lines = [
      "digraph {", "  graph [rankdir=LR, compound=true, fontname=Helvetica, nodesep=0.35, ranksep=0.55, bgcolor=white]",
      "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef3fb\", color=\"#4a6fa5\", fontname=Helvetica, fontsize=12]",
      "  edge [color=\"#555555\", arrowsize=0.7]", "  subgraph cluster_live {",
      "    label=\"a session is in use\"; style=rounded; color=\"#4a6fa5\"; fontcolor=\"#4a6fa5\"",
      "    subgraph cluster_refresh {", "      label=\"refreshing\"; color=\"#9bb3d4\"",
    ]
    lines += refresh.sorted().map { "      \($0.rawValue)" } + ["    }", "    idle", "  }"]
    lines += State.allCases.filter { !live.contains($0) }.map { "  \($0.rawValue)" }
    let common = refresh.reduce(Set(State.allCases).subtracting(refresh)) { $0.intersection(transitions[$1] ?? []) }
    for (old, next) in transitions.sorted(by: { $0.key < $1.key }) {
      for new in next.sorted() where !(refresh.contains(old) && common.contains(new)) {
        lines.append("  \(old.rawValue) -> \(new.rawValue)")
      }
    }
    lines += common.sorted().map { "  pausing -> \($0.rawValue) [ltail=cluster_refresh, style=dashed]" }
    return (lines + ["}", ""]).joined(separator: "\n")
  }
}
#endif
