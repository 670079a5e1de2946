import HandstampCore
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(1))) struct `Those who wait for a token` {
  private let waiters = TokenWaiters()
  private let need = SessionMachine.Need()
  private let answer = TokenWaiters.Answer.failure(.unreachable(retryAfter: nil))

  /// Lets a new task wait; returns when it does, and whether the machine is to be asked in its name.
  private func join(
    _ number: UInt64, _ need: SessionMachine.Need, cancelled: Bool = false
  ) async -> (isFirst: Bool, task: Task<TokenWaiters.Answer, Never>) {
    let (joined, tell) = AsyncStream.makeStream(of: Bool.self)
    let task = Task { [waiters] in
      if cancelled { withUnsafeCurrentTask { $0?.cancel() } }
      return await withCheckedContinuation { tell.yield(waiters.join(name(number), need, $0)) }
    }
    for await isFirst in joined { return (isFirst, task) }
    return (false, task)
  }

  private func name(_ number: UInt64) -> SessionMachine.Waiter { SessionMachine.Waiter(number) }

  @Test func `ask once for all who need the same, and are all answered`() async {
    let (first, second) = (await join(1, need), await join(2, need))
    let longer = await join(3, SessionMachine.Need(validity: .seconds(60)))
    #expect(first.isFirst)
    #expect(!second.isFirst)
    #expect(longer.isFirst)
    waiters.answer([name(1)], answer)
    #expect(await first.task.value == answer)
    #expect(await second.task.value == answer)
    #expect(waiters.isOpen(name(3)))
    waiters.answer([name(3)], answer)
    #expect(await longer.task.value == answer)
  }

  @Test func `begin anew once they were answered`() async {
    let early = await join(1, need)
    waiters.answer([name(1)], answer)
    #expect(!waiters.isOpen(name(1)))
    let late = await join(2, need)
    #expect(late.isFirst)
    // Named again by mistake, the former group does not exist.
    waiters.answer([name(1)], .failure(.rolledBack))
    waiters.answer([name(2)], answer)
    #expect(await early.task.value == answer)
    #expect(await late.task.value == answer)
  }

  @Test func `go one by one, and the machine hears of the last one under the name of the first`() async {
    let (first, second) = (await join(1, need), await join(2, need))
    #expect(waiters.leave(name(1), need) == nil)
    #expect(await first.task.value == .failure(.cancelled))
    #expect(waiters.isOpen(name(1)))
    #expect(waiters.leave(name(2), need) == name(1))
    #expect(await second.task.value == .failure(.cancelled))
    #expect(!waiters.isOpen(name(1)))
    #expect(waiters.leave(name(2), need) == nil)
    let next = await join(3, need)
    #expect(next.isFirst)
    waiters.answer([name(3)], answer)
    #expect(await next.task.value == answer)
  }

  @Test func `are found in whatever order they came`() async {
    var tasks: [UInt64: Task<TokenWaiters.Answer, Never>] = [:]
    for number: UInt64 in [5, 1, 4, 2, 3] { tasks[number] = await join(number, need).task }
    for number: UInt64 in [3, 5, 3, 6, 1] { #expect(waiters.leave(name(number), need) == nil) }
    for number: UInt64 in [3, 5, 1] { #expect(await tasks[number]?.value == .failure(.cancelled)) }
    #expect(waiters.isOpen(name(5)))
    waiters.answer([name(5)], answer)
    for number: UInt64 in [2, 4] { #expect(await tasks[number]?.value == answer) }
  }

  @Test func `do not wait at all when they were cancelled before`() async {
    let late = await join(1, need, cancelled: true)
    #expect(!late.isFirst)
    #expect(!waiters.isOpen(name(1)))
    waiters.answer([name(1)], answer)
    #expect(await late.task.value == .failure(.cancelled))
  }
}
