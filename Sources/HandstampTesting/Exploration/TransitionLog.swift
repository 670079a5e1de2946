#if Exploration
package import HandstampCore
import HandstampSupport

/// Collects the transitions of all machines of all worlds that descend from one. Equal to every other log, so that it does not
/// tell worlds apart.
package final class TransitionLog: Sendable, Hashable {
  package typealias State = SessionMachine.StateName

  private let seen = Locked<[State: Set<State>]>([:])

  package init() {}

  /// Explores the scenarios without planted faults, with the limits of the tests, and plays some histories.
  package static func explored(seeds: UInt64 = 1000) -> TransitionLog {
    let log = TransitionLog()
    for scenario in Scenario.all where scenario.hasNoFault {
      _ = scenario.small.explored(log: log)
    }
    for seed in 0..<seeds { _ = Simulation(seed: seed, faults: []) { $0.log = log } }
    return log
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

  /// The graph in the DOT language. What can happen in every state of a session in use is drawn once, from their box.
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
    // From a refresh: into the box `idle` and out of the session are the same everywhere.
    for (old, next) in transitions.sorted(by: { $0.key < $1.key }) {
      for new in next.sorted() where !(refresh.contains(old) && !refresh.contains(new)) {
        lines.append("  \(old.rawValue) -> \(new.rawValue)")
      }
    }
    let outer = Set(refresh.flatMap { transitions[$0] ?? [] }).subtracting(refresh)
    lines += outer.sorted().map { "  pausing -> \($0.rawValue) [ltail=cluster_refresh, style=dashed]" }
    return (lines + ["}", ""]).joined(separator: "\n")
  }
}
#endif
