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
