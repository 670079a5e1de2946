import HandstampCore
import HandstampSupport

/// The locks of attempts, by which processes see each other end that are in different namespaces.
extension World {
  package struct AttemptFiles: Sendable, Hashable {
    /// The file that has the name.
    var named: UInt64?
    /// Those who have each file open and locked: processes, and children of processes that were killed.
    var holders: [UInt64: Set<Int>] = [:]

    func file(of process: Int) -> UInt64? { holders.first { $0.value.contains(process) }?.key }

    func isFree(_ file: UInt64) -> Bool { named == file && holders[file] == nil }

    /// As `AttemptFile.take`.
    mutating func take(by process: Int) -> UInt64 {
      if let own = file(of: process) { return own }
      // The lowest number that is free, as systems give them again.
      var file = named ?? 0
      if holders[file] != nil { file = 0 }
      while holders[file] != nil { file += 1 }
      named = file
      holders[file] = [process]
      return file
    }

    /// Also for a child that has the lock.
    mutating func unlock(by process: Int) {
      guard let file = file(of: process) else { return }
      holders[file] = nil
      if named == file { named = nil }
    }

    mutating func die(_ process: Int, leaving child: Int?) {
      guard let file = file(of: process) else { return }
      holders[file] = child.map { [$0] }
    }
  }

  /// As `SessionVault.locking`.
  mutating func locking(_ edit: VaultEdit, by index: Int) -> VaultEdit {
    guard limits.hasNamespaces, copy == nil, !limits.faults.contains(.attemptsAreNotLocked),
      case .prepare(let id, holding: let token, replacing: let access, let key, var attempt?, over: let noted) = edit,
      edit.isWritten(to: vault),
      // A sender notices that a second lock is granted.
      !limits.locksExcludeNobody || limits.faults.contains(.anyLockIsBelieved)
    else { return edit }
    attempt.lock = FileIdentity(device: 0, number: attempts.take(by: index))
    return .prepare(id, holding: token, replacing: access, key: key, attempt: attempt, over: noted)
  }

  /// Whether the sender of `attempt` has ended, as far as process `index` can see.
  func hasEnded(_ attempt: RefreshAttempt, seenBy index: Int) -> Bool {
    let sender = Int(attempt.sender.id)
    let starts = processes.indices.contains(sender) ? processes[sender].starts : 0
    if attempt.sender.isVisible(to: identity(of: index)), attempt.sender.startedAt != UInt64(starts) { return true }
    guard let lock = attempt.lock else { return false }
    if limits.faults.contains(.refreshLockProvesTheEnd) { return holder?.process != sender }
    return limits.locksExcludeNobody || attempts.isFree(lock.number)
  }

  /// A process has handled an event.
  mutating func releaseAttempt(of index: Int) {
    guard limits.hasNamespaces, !processes[index].machine.holdsAttempt(at: now) else { return }
    attempts.unlock(by: index)
  }
}

extension VaultEdit {
  fileprivate func isWritten(to entry: VaultEntry) -> Bool {
    if case .write = applied(to: entry) { true } else { false }
  }
}
