import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A multicast` {
  @Test func `passes the latest element and all later ones to each subscriber, in order`() async {
    let hub = Multicast(startingWith: 0)
    let first = hub.subscribe()
    hub.publish(1)
    let second = hub.subscribe()
    hub.publish { ($0 ?? 0) + 1 }
    hub.finish()
    #expect(await elements(of: first) == [0, 1, 2])
    #expect(await elements(of: second) == [1, 2])
    #expect(hub.latest == 2)
  }

  @Test func `without a first element passes later ones only`() async {
    let hub = Multicast<Int>()
    hub.publish(1)
    let stream = hub.subscribe()
    hub.publish(2)
    hub.finish()
    #expect(await elements(of: stream) == [2])
  }

  @Test func `that has finished ends every later stream after its first element`() async {
    let hub = Multicast(startingWith: 7)
    hub.finish()
    #expect(await elements(of: hub.subscribe()) == [7])
  }

  @Test func `ends its streams when it is released`() async {
    var hub: Multicast<Int>? = Multicast(startingWith: 1)
    let stream = hub?.subscribe()
    hub = nil
    #expect(await stream.asyncMap(elements) == [1])
  }

  private func elements(of stream: AsyncStream<Int>) async -> [Int] {
    var all: [Int] = []
    for await element in stream { all.append(element) }
    return all
  }
}

extension Optional {
  fileprivate func asyncMap<Result>(_ transform: (Wrapped) async -> Result) async -> Result? {
    if let self { await transform(self) } else { nil }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Subscribers of a multicast` {
  @Test func `may be cancelled at the instant that they are told`() async {
    let hub = Multicast(startingWith: 0)
    let rounds = 50_000
    let publisher = Task.detached { for number in 1...rounds { hub.publish(number) } }
    for _ in 0..<rounds {
      let observer = Task.detached { for await _ in hub.subscribe() {} }
      // Until it waits for the next element.
      await Task.yield()
      observer.cancel()
    }
    await publisher.value
    #expect(hub.latest == rounds)
  }

  @Test func `see what several threads publish in the same order`() async {
    let hub = Multicast(startingWith: 0)
    let streams = (0..<4).map { _ in hub.subscribe() }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { for _ in 0..<500 { hub.publish { ($0 ?? 0) + 1 } } } }
    }
    hub.finish()
    for stream in streams {
      var seen: [Int] = []
      for await element in stream { seen.append(element) }
      #expect(seen == Array(0...2_000))
    }
  }
}
