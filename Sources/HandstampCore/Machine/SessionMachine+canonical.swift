extension SessionMachine {
  /// Returns the same machine with its operations and tickets numbered from 1 in order, and the renumbering: two machines that
  /// differ only in their history become equal. For exhaustive exploration.
  package func canonical() -> (machine: SessionMachine, operations: [Operation: Operation]) {
    var machine = self
    var numbers = Set(work.keys.map(\.number)).union(timers.values)
    if case .live(let live) = phase, let lock = live.lock { numbers.insert(lock.number) }
    if case .ending(let ending) = phase, let lock = ending.lock { numbers.insert(lock.number) }
    var new: [UInt64: UInt64] = [:]
    for (index, number) in numbers.sorted().enumerated() { new[number] = UInt64(index) + 1 }
    func renamed(_ operation: Operation) -> Operation { Operation(new[operation.number] ?? 0) }
    machine.work = [:]
    for (operation, purpose) in work { machine.work[renamed(operation)] = purpose }
    for (timer, ticket) in timers { machine.timers[timer] = new[ticket] ?? 0 }
    if case .live(var live) = phase {
      if let lock = live.flight?.lock { live.flight?.lock = renamed(lock) }
      if let lock = live.lockOfUnsaved { live.lockOfUnsaved = renamed(lock) }
      machine.phase = .live(live)
    }
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
