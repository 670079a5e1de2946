#if Exploration
extension SessionMachine {
  /// Returns the same machine with its operations and tickets numbered from 1 in order, and the renumbering: two machines that
  /// differ only in their history become equal. For exhaustive exploration.
  package func canonical() -> (machine: SessionMachine, operations: [Operation: Operation]) {
    var machine = self
    var numbers = Set(work.keys.map(\.number)).union(timers.values)
    if let lock = live?.lock { numbers.insert(lock.number) }
    if let operation = live?.refresh?.state.operation { numbers.insert(operation.number) }
    if case .ending(let ending) = phase, let lock = ending.lock { numbers.insert(lock.number) }
    var new: [UInt64: UInt64] = [:]
    for (index, number) in numbers.sorted().enumerated() { new[number] = UInt64(index) + 1 }
    func renamed(_ operation: Operation) -> Operation { Operation(new[operation.number] ?? 0) }
    machine.work = [:]
    for (operation, purpose) in work { machine.work[renamed(operation)] = purpose }
    for (timer, ticket) in timers { machine.timers[timer] = new[ticket] ?? 0 }
    if let lock = live?.refresh?.lock { machine.live?.refresh?.lock = renamed(lock) }
    if let lock = live?.lockOfUnsaved { machine.live?.lockOfUnsaved = renamed(lock) }
    if let state = live?.refresh?.state { machine.live?.refresh?.state = state.renamed(renamed) }
    if case .ending(var ending) = phase {
      if let lock = ending.lock { ending.lock = renamed(lock) }
      machine.phase = .ending(ending)
    }
    machine.lastNumber = UInt64(numbers.count)
    var operations: [Operation: Operation] = [:]
    for number in numbers { operations[Operation(number)] = renamed(Operation(number)) }
    return (machine, operations)
  }
}

extension SessionMachine.Refresh.State {
  fileprivate func renamed(_ new: (SessionMachine.Operation) -> SessionMachine.Operation) -> Self {
    switch self {
    case .locking(let operation): .locking(new(operation))
    case .checkingHolder(let operation, let error): .checkingHolder(new(operation), error)
    case .preparing(let operation): .preparing(new(operation))
    case .notingReading(let operation): .notingReading(new(operation))
    case .sending(let operation, let token, let since): .sending(new(operation), token, since: since)
    case .saving(let operation, let tokens): .saving(new(operation), tokens)
    case .rejecting(let operation, let reason): .rejecting(new(operation), reason)
    case .checkingRollback(let operation, let token): .checkingRollback(new(operation), token)
    case .pausing: .pausing
    case .withdrawing(let operation): .withdrawing(new(operation))
    case .checkingSender(let operation): .checkingSender(new(operation))
    }
  }
}
#endif
