import HandstampCore

/// Two server nodes on one store. A node reads a session's row, decides, and commits later; in between, the other node may commit. An
/// answer to a commit may be lost, whether it took place or not, and a failover may lose commits that were not acknowledged.
extension World {
  /// How a commit ends for the node that makes it.
  package enum Commit: String, Sendable, Hashable, CaseIterable {
    case acknowledged
    /// It took place, but the node cannot know.
    case unknownDone
    /// It did not take place, but the node cannot know.
    case unknownLost
  }

  func nodesMoves(_ moves: inout [Move]) {
    for index in network.indices {
      guard network[index].attempt != nil else {
        moves.append(.nodeReads(index))
        continue
      }
      moves.append(.nodeCommits(index, .acknowledged))
      if unknownCommitsLeft > 0 {
        moves += [.nodeCommits(index, .unknownDone), .nodeCommits(index, .unknownLost)]
      }
    }
    if failoversLeft > 0, sessions.contains(where: \.hasUnacknowledged) { moves.append(.failOver) }
  }

  mutating func makeNodes(_ move: Move) {
    switch move {
    case .nodeReads(let index):
      guard network.indices.contains(index) else { return }
      let message = network[index]
      for session in sessions where session.issued(message.token) {
        network[index].attempt = session.attempt(message.token, key: message.key, at: serverTime)
      }
    case .nodeCommits(let index, let commit):
      guard network.indices.contains(index), let attempt = network[index].attempt else { return }
      if commit != .acknowledged { unknownCommitsLeft -= 1 }
      let message = network[index]
      var answer = RefreshResult.noDecision(.network(.timedOut))
      for place in sessions.indices where sessions[place].issued(message.token) {
        guard
          let decided = sessions[place].commit(
            attempt, commit, blindly: limits.faults.contains(.nodesWriteBlindly), at: serverTime)
        else {
          // Another node was faster: the node decides again.
          network[index].attempt = nil
          return
        }
        if commit == .acknowledged {
          answer = decided
        } else if limits.faults.contains(.unknownCommitIsRefused) {
          answer = .rejected(.rejected)
        }
      }
      network.remove(at: index)
      judgeAnswer(answer, to: message.token, message.key)
      guard let operation = message.operation else { return }
      answered(operation, of: message.process, by: answer)
    case .failOver:
      failoversLeft -= 1
      for index in sessions.indices {
        sessions[index].failOver(losingEnds: limits.faults.contains(.failoverLosesEnds))
      }
    default: return
    }
  }

  /// An end that was acknowledged holds, whatever happens to a node or the store.
  mutating func judgeEnds() {
    for session in sessions where session.isAlive(at: serverTime) && endedThere.contains(session.session) {
      fail(8, "an ended session is alive")
    }
  }
}
