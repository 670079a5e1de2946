import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) struct `Callers waiting for a token` {
  private let waiters = TokenWaiters()
  private let need = SessionMachine.Need()
  private let answer = TokenWaiters.Answer.failure(.requestFailed(.network(.timedOut)))

  /// Lets a new task wait; returns once it waits, and whether the machine must be asked on its behalf.
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

  @Test func `share one request for the same need, and are all answered`() async {
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

  @Test func `form a new group once they were answered`() async {
    let early = await join(1, need)
    waiters.answer([name(1)], answer)
    #expect(!waiters.isOpen(name(1)))
    let late = await join(2, need)
    #expect(late.isFirst)
    // Named again by mistake, the previous group no longer exists.
    waiters.answer([name(1)], .failure(.storageOutdated))
    waiters.answer([name(2)], answer)
    #expect(await early.task.value == answer)
    #expect(await late.task.value == answer)
  }

  @Test func `leave one by one, and the machine hears of the last under the first one's id`() async {
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

  @Test func `are found in any order`() async {
    var tasks: [UInt64: Task<TokenWaiters.Answer, Never>] = [:]
    for number: UInt64 in [5, 1, 4, 2, 3] { tasks[number] = await join(number, need).task }
    for number: UInt64 in [3, 5, 3, 6, 1] { #expect(waiters.leave(name(number), need) == nil) }
    for number: UInt64 in [3, 5, 1] { #expect(await tasks[number]?.value == .failure(.cancelled)) }
    #expect(waiters.isOpen(name(5)))
    waiters.answer([name(5)], answer)
    for number: UInt64 in [2, 4] { #expect(await tasks[number]?.value == answer) }
  }

  @Test func `do not wait at all if they are already cancelled`() async {
    let late = await join(1, need, cancelled: true)
    #expect(!late.isFirst)
    #expect(!waiters.isOpen(name(1)))
    waiters.answer([name(1)], answer)
    #expect(await late.task.value == .failure(.cancelled))
  }
}
