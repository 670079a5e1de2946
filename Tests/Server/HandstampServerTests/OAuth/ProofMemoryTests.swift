#if Programs
import HandstampCore
import HandstampJOSE
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The memory of proofs` {
  /// A memory whose mutating calls can be expectations.
  private final class Memory {
    private var memory: ProofMemory
    init(capacity: Int = 1000) {
      memory = ProofMemory(life: DPoPVerifier.life, perKey: DPoPVerifier.perKey, capacity: capacity)
    }

    func contains(_ id: String, of key: String) -> Bool { memory.contains(id, of: key) }
    func insert(_ id: String, of key: String, at seconds: Int64) -> Bool {
      memory.insert(id, of: key, at: UnixTime(seconds: 1_800_000_000 + seconds))
    }
  }

  @Test func `accepts each proof of a key once, as long as it could be valid`() {
    let memory = Memory()
    #expect(memory.insert("a", of: "key", at: 0))
    #expect(!memory.insert("a", of: "key", at: 0))
    #expect(memory.insert("a", of: "other", at: 0))
    #expect(memory.contains("a", of: "key"))
    #expect(!memory.contains("b", of: "key"))
    #expect(!memory.insert("a", of: "key", at: 600))
    #expect(memory.insert("b", of: "third", at: 601))
    #expect(memory.contains("a", of: "key"))
    #expect(memory.insert("c", of: "third", at: 1202))
    #expect(!memory.contains("a", of: "key"))
  }

  @Test func `forgets a key's own oldest proofs, and no other key's`() {
    let memory = Memory()
    #expect(memory.insert("0", of: "quiet", at: 0))
    for number in 0..<DPoPVerifier.perKey { #expect(memory.insert("\(number)", of: "busy", at: 0)) }
    #expect(memory.contains("0", of: "busy"))
    #expect(memory.insert("more", of: "busy", at: 0))
    #expect(!memory.contains("0", of: "busy"))
    #expect(memory.contains("1", of: "busy"))
    #expect(memory.contains("0", of: "quiet"))
  }

  @Test func `has a bound for keys, forgets those unused for longest, and refuses none`() {
    let memory = Memory(capacity: 100)
    #expect(memory.insert("0", of: "idle", at: 0))
    #expect(memory.insert("0", of: "in use", at: 0))
    for number in 1...500 {
      #expect(memory.insert("0", of: "key \(number)", at: 0))
      if number % 50 == 0 { #expect(memory.insert("\(number)", of: "in use", at: 0)) }
    }
    #expect(memory.contains("0", of: "in use"))
    #expect(!memory.contains("0", of: "idle"))
    #expect((1...500).count { memory.contains("0", of: "key \($0)") } <= 200)
  }
}
#endif
