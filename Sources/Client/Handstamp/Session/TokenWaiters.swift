import HandstampCore
import HandstampSupport

/// The callers that wait for a token, in groups: callers with the same need wait for the same answer, and only the first of a
/// group enters the machine.
///
/// Behind a small lock and not in the actor: ten thousand concurrent callers would queue up there one by one, and the one
/// answer behind them.
final class TokenWaiters: Sendable {
  typealias Answer = Result<StoredAccess, SessionError>
  typealias Continuation = CheckedContinuation<Answer, Never>

  private struct Group: Sendable {
    /// The machine's name for the group.
    var waiter: SessionMachine.Waiter
    /// In the order of their numbers, which is nearly the order of arrival. A cancelled member has no continuation.
    private(set) var members: [(id: SessionMachine.Waiter, continuation: Continuation?)]
    private(set) var count: Int

    init(_ first: SessionMachine.Waiter, _ continuation: Continuation) {
      waiter = first
      members = [(first, continuation)]
      count = 1
    }

    mutating func add(_ member: SessionMachine.Waiter, _ continuation: Continuation) {
      count += 1
      let isLast = members.last.map { $0.id < member } ?? true
      members.insert((member, continuation), at: isLast ? members.endIndex : place(of: member))
    }

    mutating func remove(_ member: SessionMachine.Waiter) -> Continuation? {
      let place = place(of: member)
      guard place < members.endIndex, members[place].id == member, let found = members[place].continuation else {
        return nil
      }
      members[place].continuation = nil
      count -= 1
      return found
    }

    /// Returns the position of `member`, existing or not.
    private func place(of member: SessionMachine.Waiter) -> Int {
      var range = members.startIndex..<members.endIndex
      while !range.isEmpty {
        let middle = range.lowerBound + range.count / 2
        range = members[middle].id < member ? middle + 1..<range.upperBound : range.lowerBound..<middle
      }
      return range.lowerBound
    }
  }
  private struct Content: Sendable {
    var groups: [SessionMachine.Need: Group] = [:]
    /// The need of each open group.
    var needs: [SessionMachine.Waiter: SessionMachine.Need] = [:]
  }
  private let content = Locked(Content())

  /// Adds a caller. Returns whether it is the first of a group: then the machine is to be asked, in its name. A task that was
  /// cancelled before is answered at once.
  func join(_ member: SessionMachine.Waiter, _ need: SessionMachine.Need, _ continuation: Continuation) -> Bool {
    let isFirst: Bool? = content.withLock { content in
      // Inside the lock: a later cancellation finds the member here.
      if Task.isCancelled { return nil }
      if content.groups[need]?.add(member, continuation) != nil { return false }
      content.groups[need] = Group(member, continuation)
      content.needs[member] = need
      return true
    }
    if isFirst == nil { continuation.resume(returning: .failure(.cancelled)) }
    return isFirst ?? false
  }

  /// Ends one caller's wait. Returns the group's name if the group is now empty: then the machine is to forget it.
  func leave(_ member: SessionMachine.Waiter, _ need: SessionMachine.Need) -> SessionMachine.Waiter? {
    let (continuation, abandoned) = content.withLock { content -> (Continuation?, SessionMachine.Waiter?) in
      guard let continuation = content.groups[need]?.remove(member) else { return (nil, nil) }
      guard let group = content.groups[need], group.count == 0 else { return (continuation, nil) }
      content.groups[need] = nil
      content.needs[group.waiter] = nil
      return (continuation, group.waiter)
    }
    continuation?.resume(returning: .failure(.cancelled))
    return abandoned
  }

  /// Whether any caller waits in the group with that name.
  func isOpen(_ waiter: SessionMachine.Waiter) -> Bool {
    content.withLock { $0.needs[waiter] != nil }
  }

  /// Answers groups with the machine's result. Callers that arrive later begin a new group.
  func answer(_ waiters: [SessionMachine.Waiter], _ answer: Answer) {
    let groups = content.withLock { content in
      waiters.compactMap { content.needs.removeValue(forKey: $0) }
        .compactMap { content.groups.removeValue(forKey: $0) }
    }
    for group in groups {
      // In the order of arrival.
      for member in group.members { member.continuation?.resume(returning: answer) }
    }
  }
}
