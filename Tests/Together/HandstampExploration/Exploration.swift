#if Exploration
import HandstampCore

/// Visits every state that a ``World`` can reach within its limits.
///
/// States are identified by a 64-bit hash, as in model checkers (hash compaction): among a million states, the
/// probability of a collision is about one in forty million.
package struct Exploration: Sendable {
  package struct Finding: Sendable {
    package var verdict: World.Verdict
    /// The shortest path to the state.
    package var path: [World.Move]
  }

  /// The first finding of each kind, shortest paths first.
  package private(set) var findings: [Finding] = []
  package private(set) var states = 0
  /// Whether the exploration stopped at the bound on states.
  package private(set) var isCut = false

  /// - Parameters:
  ///   - bound: The maximum number of states to visit.
  ///   - isEnough: Whether the findings answer the question, so that the exploration can stop.
  package init(_ world: World, bound: Int = 3_000_000, isEnough: (Exploration) -> Bool = { _ in false }) {
    var seen: Set<Int> = [world.hashValue]
    var ways: [Way] = [Way(parent: -1, move: nil)]
    // One layer after another: only the worlds of two layers are kept in memory.
    var layer: [(world: World, way: Int)] = [(world, 0)]
    while !layer.isEmpty, !isCut {
      var next: [(world: World, way: Int)] = []
      for (current, way) in layer {
        for move in current.moves() {
          var following = current
          following.make(move)
          let hash = following.hashValue
          guard seen.insert(hash).inserted else { continue }
          ways.append(Way(parent: Int32(way), move: move))
          if let verdict = following.verdict {
            note(verdict, at: ways.count - 1, in: ways)
            if isEnough(self) {
              states = ways.count
              return
            }
          } else {
            next.append((following, ways.count - 1))
            if world.limits.checksLiveness, hash & 63 == 0 {
              checkLiveness(of: following, at: ways.count - 1, in: ways)
              if isEnough(self) {
                states = ways.count
                return
              }
            }
          }
        }
        if ways.count > bound {
          isCut = true
          break
        }
      }
      layer = next
    }
    states = ways.count
  }

  private struct Way {
    var parent: Int32
    var move: World.Move?
  }

  /// Checks, for one state in 64, that everything comes to a good end from there.
  private mutating func checkLiveness(of world: World, at index: Int, in ways: [Way]) {
    var world = world
    world.settle()
    if let verdict = world.verdict { note(verdict, at: index, in: ways) }
  }

  /// Whether an honest client can be signed out.
  package var signsOut: Bool {
    findings.contains { if case .out = $0.verdict { true } else { false } }
  }
  package var coexists: Bool { findings.contains { $0.verdict == .coexist } }
  package var isTakenOver: Bool { findings.contains { $0.verdict == .takeover } }
  package var detects: Bool { findings.contains { $0.verdict == .detected } }

  private mutating func note(_ verdict: World.Verdict, at index: Int, in ways: [Way]) {
    guard !findings.contains(where: { $0.verdict == verdict }) else { return }
    var path: [World.Move] = []
    var position = index
    while position >= 0 {
      if let move = ways[position].move { path.append(move) }
      position = Int(ways[position].parent)
    }
    findings.append(Finding(verdict: verdict, path: path.reversed()))
  }
}
#endif
