import HandstampCore

/// Visits every state that a ``World`` can reach within its limits.
///
/// States are told apart by a 64-bit hash, as model checkers do (hash compaction): among a million states the chance that
/// two are taken for one is about one in forty million.
package struct Exploration: Sendable {
  package struct Finding: Sendable {
    package var verdict: World.Verdict
    /// The shortest way there.
    package var path: [World.Move]
  }

  /// The first finding of each kind, shortest ways first.
  package private(set) var findings: [Finding] = []
  package private(set) var states = 0
  /// Whether the bound on states cut it short.
  package private(set) var isCut = false

  /// - Parameter bound: the most states to visit.
  package init(_ world: World, bound: Int = 3_000_000) {
    var seen: Set<Int> = [world.hashValue]
    var ways: [(world: World?, parent: Int, move: World.Move?)] = [(world, -1, nil)]
    var next = 0
    while next < ways.count {
      guard let current = ways[next].world else { break }
      ways[next].world = nil
      for move in current.moves() {
        var following = current
        following.make(move)
        guard seen.insert(following.hashValue).inserted else { continue }
        ways.append((following, next, move))
        if let verdict = following.verdict { note(verdict, at: ways.count - 1, in: ways) }
      }
      next += 1
      if ways.count > bound {
        isCut = true
        break
      }
    }
    states = ways.count
  }

  /// Whether an honest client can be signed out.
  package var signsOut: Bool {
    findings.contains { if case .out = $0.verdict { true } else { false } }
  }
  package var coexists: Bool { findings.contains { $0.verdict == .coexist } }
  package var isTakenOver: Bool { findings.contains { $0.verdict == .takeover } }
  package var detects: Bool { findings.contains { $0.verdict == .detected } }

  private mutating func note(
    _ verdict: World.Verdict, at index: Int, in ways: [(world: World?, parent: Int, move: World.Move?)]
  ) {
    guard !findings.contains(where: { $0.verdict == verdict }) else { return }
    var path: [World.Move] = []
    var position = index
    while position >= 0 {
      if let move = ways[position].move { path.append(move) }
      position = ways[position].parent
    }
    findings.append(Finding(verdict: verdict, path: path.reversed()))
  }
}
