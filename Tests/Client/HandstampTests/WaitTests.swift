import HandstampTesting
import Testing

/// Each helper that waits, in a task whose time is over.
@Suite(.timeLimit(.minutes(1))) struct `Waits of tests` {
  private static let never: [@Sendable () async -> Void] = [
    { await Watched(0).wait { $0 > 0 } },
    { await Gate().wait() },
    { await Gate().arrivals(1) },
    { await ManualClock().sleepers(1) },
    { try? await ManualClock().sleep(for: .seconds(1)) },
    { await othersFirst { false } },
    { await observed { false } },
    { _ = await eventually { false } },
  ]

  @Test(arguments: never.indices) func `end by themselves if the task is cancelled before, or meanwhile`(
    index: Int
  ) async {
    let isReached = Gate()
    for isEarly in [true, false] {
      let task = Task {
        if isEarly { withUnsafeCurrentTask { $0?.cancel() } }
        isReached.open()
        await Self.never[index]()
        return Task.isCancelled
      }
      await isReached.wait()
      if !isEarly { for _ in 0..<20 { await othersFirst() } }
      task.cancel()
      #expect(await task.value)
    }
  }

  @Test func `end when the value is as they want it, and no sooner`() async {
    let (value, order) = (Watched(0), Watched<[Int]>([]))
    let tasks = [1, 2, 1].enumerated().map { number, wanted in
      Task { [order] in
        await value.wait { $0 >= wanted }
        order.change { $0.append(number) }
      }
    }
    value.change { $0 = 1 }
    await order.wait { $0.count == 2 }
    #expect(Set(order.value) == [0, 2])
    value.change { $0 = 2 }
    for task in tasks { await task.value }
    #expect(order.value.last == 1)
  }
}
