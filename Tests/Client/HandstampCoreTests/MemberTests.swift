import Foundation
import HandstampCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A value in a server's JSON` {
  @Test func `takes no more of the stack than a small thread has, however deep it is`() async {
    let text = String(repeating: #"{"a":"#, count: 500) + "1" + String(repeating: "}", count: 500)
    let isRead = await withCheckedContinuation { continuation in
      let thread = Thread {
        continuation.resume(returning: (try? JSONDecoder().decode(Member.self, from: Data(text.utf8))) != nil)
      }
      // As a task's thread has on Apple's systems.
      thread.stackSize = 512 << 10
      thread.start()
    }
    #expect(isRead)
  }
}
