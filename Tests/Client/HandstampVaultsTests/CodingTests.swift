import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) struct `A vault's fields` {
  static let entries: [VaultEntry] = VaultSamples.oddSessions.map { session in
    var session = session
    session.attempt = RefreshAttempt(
      since: session.startedAt, sender: ProcessIdentity(id: .max, startedAt: 77, namespace: .max),
      first: session.startedAt, limit: .milliseconds(1667), isOver: true,
      readings: (0..<RefreshAttempt.readingLimit).map { VaultSamples.moment(Int64($0)) })
    session.attempt?.lock = FileIdentity(device: .max, number: 1)
    return VaultEntry(
      revision: 7, session: session,
      tombstones: (EndReason.allCases + [.endedAtProvider("Google")]).map {
        Tombstone(
          session: session.id, reason: $0, endedAt: session.startedAt, revocation: session.revocation,
          delay: DeliveryDelay(attempts: 3, last: VaultSamples.moment(5)))
      })
  }

  @Test(arguments: entries)
  func `round-trip`(entry: VaultEntry) {
    #expect(decoded(encoded(entry)) == entry)
    let ended = VaultEntry(revision: 8, tombstones: entry.tombstones)
    #expect(decoded(encoded(ended), revision: 8) == ended)
  }

  @Test(arguments: entries)
  func `fit in the reserved space`(entry: VaultEntry) {
    #expect(encoded(entry).count <= entry.fieldCapacity)
  }

  @Test func `of an unknown kind are skipped`() throws {
    let entry = try #require(Self.entries.first)
    let known = encoded(entry)
    let stranger: [UInt8] = [200, 0, 0, 0, 3, 1, 2, 3]
    #expect(decoded(stranger + known + stranger) == entry)
    // One inside the session, whose length is in the four bytes behind its tag.
    let length = known[1...4].reduce(0) { $0 << 8 | Int($1) }
    let longer = length + stranger.count
    let size = (0..<4).map { UInt8(truncatingIfNeeded: longer >> (24 - 8 * $0)) }
    #expect(decoded([1] + size + stranger + known[5...]) == entry)
  }

  @Test func `with an unknown end reason end the session all the same`() throws {
    let moment = VaultSamples.moment()
    let entry = VaultEntry(
      tombstones: [Tombstone(session: SessionID("s"), reason: .revoked, endedAt: moment, revocation: nil)])
    var bytes = encoded(entry)
    let reason = Array("revoked".utf8)
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: reason) })
    bytes[place] = UInt8(ascii: "x")
    #expect(decoded(bytes, revision: 0)?.tombstones.first?.reason == .rejected)
  }

  @Test func `of an attempt need its limit`() {
    func entry(hasLimit: Bool) -> VaultEntry? {
      let fields = FieldWriter.withBytes(capacity: 512) { writer in
        writer.field(1) { session in
          session.field(1, "s1")
          for tag in [7, 8] as [UInt8] { session.field(tag) { VaultSamples.moment().write(to: &$0) } }
          session.field(9) { attempt in
            attempt.field(1) { VaultSamples.moment().write(to: &$0) }
            attempt.field(2) { $0.number(7 as Int32) }
            guard hasLimit else { return }
            attempt.field(5) {
              $0.number(60 as Int64)
              $0.number(0 as Int64)
            }
          }
        }
      } use: { (bytes) throws(Never) in
        copy bytes
      }
      return decoded(fields)
    }
    #expect(entry(hasLimit: true)?.session?.attempt?.limit == .seconds(60))
    #expect(entry(hasLimit: false) == nil)
  }

  @Test func `that are cut other than between two fields are invalid`() throws {
    let entry = try #require(Self.entries.first)
    let bytes = encoded(entry)
    let whole = Set(
      (0...entry.tombstones.count).map { count in
        encoded(VaultEntry(session: entry.session, tombstones: Array(entry.tombstones.prefix(count)))).count
      } + [0])
    for length in 0..<bytes.count {
      #expect((decoded(Array(bytes[..<length])) != nil) == whole.contains(length), "cut to \(length)")
    }
  }

  @Test func `with an excessive duration are clamped to the longest`() {
    let session = VaultSamples.session()
    for (endless, longest) in [
      (Duration(secondsComponent: .max, attosecondsComponent: .max), Duration.seconds(Int64.max)),
      (Duration(secondsComponent: .min, attosecondsComponent: .min), .seconds(Int64.min)),
    ] {
      var entry = VaultEntry(revision: 7, session: session)
      entry.session?.access?.lifetime?.duration = endless
      #expect(decoded(encoded(entry))?.session?.access?.lifetime?.duration == longest)
    }
  }

  /// Decoding never traps, and encoding and decoding the result again gives the same entry.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func `of garbage never trap`(seed: UInt64) throws {
    var random = SplitMix64(state: seed)
    // Not the samples with thousands of repeated bytes.
    let samples = Self.entries.map(encoded).filter { $0.count < 4000 }
    var bytes = samples.randomElement(using: &random) ?? []
    for _ in 0..<100 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0 where !bytes.isEmpty:
        bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: .min ... .max, using: &random)
      case 1 where !bytes.isEmpty: bytes[Int.random(in: bytes.indices, using: &random)] ^= 1
      case 2: bytes.removeLast(min(bytes.count, Int.random(in: 0..<20, using: &random)))
      case 3: bytes.insert(.random(in: 0...9, using: &random), at: Int.random(in: 0...bytes.count, using: &random))
      case 4 where !bytes.isEmpty: bytes.remove(at: Int.random(in: bytes.indices, using: &random))
      default: bytes = samples.randomElement(using: &random) ?? []
      }
      if let entry = decoded(bytes) { #expect(decoded(encoded(entry)) == entry) }
    }
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `of noise in a file never trap`(seed: UInt64) throws {
    var random = SplitMix64(state: seed)
    let key = try #require([UInt8](0..<32).withUnsafeBytes(SealingKey.init))
    let account = AccountID("ada")
    let whole = try SealedFormat.seal(VaultEntry(session: VaultSamples.session()), account: account, key: key)
    let count = Int.random(in: 0...whole.count + 100, using: &random)
    let kept = Int.random(in: 0...whole.count, using: &random)
    var file = Array(whole.prefix(min(kept, count)))
    while file.count < count { file.append(.random(in: .min ... .max, using: &random)) }
    if file == whole { return }
    #expect(throws: VaultError.self) {
      try SealedFormat.open(file, of: .vault(account), key: key) { VaultEntry(revision: $0, fields: $1) }
    }
  }

  private func encoded(_ entry: VaultEntry) -> [UInt8] {
    FieldWriter.withBytes(capacity: entry.fieldCapacity, write: entry.write) { (bytes) throws(Never) in copy bytes }
  }

  private func decoded(_ bytes: [UInt8], revision: UInt64 = 7) -> VaultEntry? {
    bytes.withUnsafeBytes { VaultEntry(revision: revision, fields: $0) }
  }
}
