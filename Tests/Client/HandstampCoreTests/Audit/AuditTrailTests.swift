import HandstampCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An audit line` {
  @Test(arguments: Chain.oddEntries)
  func `round-trips`(entry: AuditEntry) throws {
    let record = AuditRecord(
      sequence: UInt64(Int64.max), entry: entry, writer: AuditWriter(program: "för\"um", process: 4711), kept: 9,
      previous: .none)
    let line = AuditLine(record, authenticate: Chain.code)
    #expect(line.bytes.count <= AuditLine.limit && line.bytes.last == 10)
    #expect(line.bytes.dropLast().allSatisfy { $0 >= 0x20 })
    let read = try #require(AuditLine(line.bytes.dropLast()))
    #expect(read.record == record && read.code == line.code && read.covered == line.covered)
  }

  @Test func `is readable JSON`() {
    let text = String(decoding: Chain(1).lines[0], as: UTF8.self)
    #expect(
      text.hasPrefix(#"{"seq":1,"at":"2027-01-15T08:00:01Z","ms":1800000001000,"action":"refresh","outcome":"ok","#))
    #expect(text.contains(#""account":"ada","session":"s1","program":"forum","pid":7,"prev":"AAAA"#))
  }

  @Test func `with an unknown member, from a newer version, is still parsed`() throws {
    let line = Chain(1).lines[0]
    let covered = Array(String(decoding: line, as: UTF8.self).replacing(#","prev""#, with: #","new":"x","prev""#).utf8)
    let read = try #require(AuditLine(covered.dropLast()))
    #expect(read.record.sequence == 1)
  }

  @Test func `of a sign-in says how, also where only a newer version knows the method`() throws {
    for method in SignInMethod.allCases {
      let entry = AuditEntry(
        action: .signIn(method), session: SessionID("s1"), account: AccountID("ada"), at: UnixTime(seconds: 1),
        outcome: "ok")
      let record = AuditRecord(
        sequence: 1, entry: entry, writer: AuditWriter(program: "forum", process: 7), previous: .none)
      let text = String(decoding: AuditLine(record, authenticate: Chain.code).bytes, as: UTF8.self)
      #expect(text.contains(#""action":"sign_in","method":"\#(method.rawValue)","outcome":"ok""#))
      let newer = text.replacing(#""method":"\#(method.rawValue)""#, with: #""method":"telepathy""#)
      #expect(AuditLine(Array(newer.utf8.dropLast()))?.record.entry.action == .signIn(.other))
    }
    #expect(Set(SignInMethod.allCases.map(\.rawValue)).count == SignInMethod.allCases.count)
  }

  @Test(arguments: [
    ("ada@example.org", true), ("a.b+c_d-e@mail.example.co", true), ("a%b@mail.example.co", false),
    ("ADA@EXAMPLE.ORG", true),
    ("correct horse", false), ("hunter2", false), ("p@ssw0rd", false), ("a@b@example.org", false),
    ("@example.org", false),
    ("ada@example.1", false), ("ada@.org", false), ("ada@example..org", false), ("ada\n@example.org", false),
    ("é@example.org", false), ("", false), (String(repeating: "a", count: 65) + "@example.org", false),
  ])
  func `names what was typed only if it has the form of an address`(typed: String, isNamed: Bool) {
    let entry = AuditEntry(
      failed: SignInClaim(.password, as: typed), inUse: AccountID("ada"),
      .refused(code: "wrong_credentials", detail: typed),
      at: UnixTime(seconds: 1))
    #expect(entry.address == (isNamed ? typed : nil))
    #expect(entry.account == nil, "the account in use may be another person's")
    #expect(entry.outcome == "wrong_credentials" && entry.action == .signIn(.password))
  }

  @Test func `of an upgrade that failed names the guest, and no code that a server made up`() {
    let secret = "hsr1.AAAA"
    let entry = AuditEntry(
      failed: SignInClaim(.upgrade, as: "ada@example.org"), inUse: AccountID("guest"),
      .refused(code: secret, detail: nil),
      at: UnixTime(seconds: 1))
    #expect(entry.account == AccountID("guest") && entry.outcome == "refused")
    for method in SignInMethod.allCases { #expect(method.continuesAccount == (method == .upgrade)) }
  }

  @Test func `truncates an overlong id, and stays below its limit`() throws {
    let long = String(repeating: "\u{202e}é\u{0}", count: 10_000)
    let entry = AuditEntry(
      action: .other(long), session: SessionID(long), account: AccountID(long), address: long,
      at: UnixTime(milliseconds: .min), outcome: long)
    let record = AuditRecord(
      sequence: UInt64(Int64.max), entry: entry, writer: AuditWriter(program: long, process: .min),
      kept: UInt64(Int64.max), previous: .none)
    let line = AuditLine(record, authenticate: Chain.code)
    #expect(line.bytes.count <= AuditLine.limit)
    let read = try #require(AuditLine(line.bytes.dropLast()))
    #expect(read.record.entry.outcome.hasSuffix("…") && read.record.entry.at == entry.at)
  }

  @Test(arguments: ["", "{}", "null", "[1]", #"{"seq":1}"#, String(repeating: "{", count: 5000)])
  func `is rejected in any other form`(text: String) {
    #expect(AuditLine(Array(text.utf8)) == nil)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An audit trail` {
  let chain = Chain(6)

  @Test func `is intact when it is untouched`() {
    #expect(chain.trail().verdict == .intact(newer: 0))
    #expect(chain.trail().lines.count == 6 && chain.trail().lines.allSatisfy { $0?.isIntact == true })
    #expect(chain.trail(head: nil).verdict == .intact(newer: 6))
    #expect(chain.trail(head: chain.heads[3]).verdict == .intact(newer: 2))
    #expect(Chain(0).trail(head: nil).verdict == .intact(newer: 0))
  }

  @Test func `detects every change of any byte`() {
    let bytes = chain.bytes
    for index in bytes.indices {
      for change in [1, 2, 0x20, 0x80, UInt8.max] as [UInt8] {
        var changed = bytes
        changed[index] ^= change
        let verdict = chain.trail(changed).verdict
        #expect(verdict != .intact(newer: 0), "byte \(index) ^ \(change)")
        guard case .intact = verdict else { continue }
        Issue.record("byte \(index) ^ \(change): \(verdict)")
      }
    }
  }

  @Test func `detects every inserted or removed byte`() {
    let bytes = chain.bytes
    for index in bytes.indices {
      var shorter = bytes
      shorter.remove(at: index)
      #expect(!chain.trail(shorter).isIntact, "without byte \(index)")
      for byte in [bytes[index], 10, 0x20] {
        var longer = bytes
        longer.insert(byte, at: index)
        #expect(!chain.trail(longer).isIntact, "\(byte) at \(index)")
      }
    }
  }

  @Test func `detects truncation at any byte before the head`() {
    for count in 0..<chain.bytes.count {
      #expect(!chain.trail(Array(chain.bytes.prefix(count))).isIntact, "the first \(count)")
      #expect(!chain.trail(Array(chain.bytes.suffix(count))).isIntact, "the last \(count)")
    }
    // Truncation behind the stored head goes unnoticed.
    let kept = chain.lines.prefix(4).flatMap { $0 }
    #expect(chain.trail(kept, head: chain.heads[3]).verdict == .intact(newer: 0))
    #expect(chain.trail(kept, head: chain.heads[4]).verdict == .cut(after: 4, head: 5))
    #expect(chain.trail([]).verdict == .cut(after: 0, head: 6))
  }

  @Test func `detects every line that is removed, duplicated or moved`() {
    for first in chain.lines.indices {
      var lines = chain.lines
      lines.remove(at: first)
      #expect(!chain.trail(lines.flatMap { $0 }).isIntact, "without \(first)")
      for second in 0...chain.lines.count {
        var lines = chain.lines
        lines.insert(chain.lines[first], at: second)
        #expect(!chain.trail(lines.flatMap { $0 }).isIntact, "\(first) again at \(second)")
        guard second < chain.lines.count, second != first else { continue }
        lines = chain.lines
        lines.swapAt(first, second)
        #expect(!chain.trail(lines.flatMap { $0 }).isIntact, "\(first) and \(second) swapped")
      }
    }
  }

  @Test func `reports where it was altered, and why`() {
    func verdict(_ change: (inout [[UInt8]]) -> Void) -> AuditVerdict {
      var lines = chain.lines
      change(&lines)
      return chain.trail(lines.flatMap { $0 }).verdict
    }
    #expect(verdict { $0[2].replace(Array("refresh".utf8), with: Array("restore".utf8)) } == .broken(at: 3, .altered))
    #expect(verdict { $0[2] = Array("# hello\n".utf8) } == .broken(at: 3, .unreadable))
    #expect(verdict { $0.remove(at: 2) } == .broken(at: 3, .missing))
    #expect(verdict { $0.remove(at: 0) } == .broken(at: 1, .missing))
    #expect(verdict { $0.insert($0[1], at: 2) } == .broken(at: 3, .repeated))
    // Genuine lines of another log with the same key: the fourth does not follow the third.
    let other = Chain(6, outcome: "other")
    #expect(verdict { $0[2] = other.lines[2] } == .broken(at: 3, .replaced))
    #expect(chain.trail(other.bytes).verdict == .broken(at: 6, .replaced))
    let found = chain.trail(chain.bytes, head: other.heads[5]).lines
    #expect(found.count { $0?.isIntact == true } == 5 && found.count == 6)
  }

  @Test func `with an unfinished last line is intact up to that line`() {
    let torn = chain.bytes + chain.lines[0].prefix(20)
    #expect(chain.trail(torn).verdict == .intact(newer: 0))
    #expect(chain.trail(torn).tornBytes == 20)
    // A truncated last line looks the same, and counts as an alteration if the head shows that there was more.
    #expect(chain.trail(chain.bytes.dropLast(5)).verdict == .cut(after: 5, head: 6))
  }

  @Test func `may begin where a rotation says, and no later`() {
    let chain = Chain(9, keeping: [5: 3])
    func from(_ number: Int) -> AuditVerdict {
      chain.trail(chain.lines.dropFirst(number - 1).flatMap { $0 }).verdict
    }
    #expect(from(1) == .intact(newer: 0) && from(2) == .intact(newer: 0) && from(3) == .intact(newer: 0))
    for number in 4...5 { #expect(from(number) == .broken(at: 3, .missing)) }
    for number in 6...9 { #expect(from(number) == .broken(at: 1, .missing)) }
    // A head that has been rotated away is fine.
    let rest = chain.lines.dropFirst(2).flatMap { $0 }
    #expect(chain.trail(rest, head: chain.heads[0]).verdict == .intact(newer: 8))
  }

  @Test func `of another key counts as altered from the first line on`() {
    let trail = AuditTrail(chain.bytes, head: nil) { Chain.code($0 + [1]) }
    #expect(trail.verdict == .broken(at: 1, .altered))
    #expect(trail.lines.count == 6 && trail.lines.allSatisfy { $0?.isIntact == false })
  }
}

extension AuditTrail {
  var isIntact: Bool { verdict.isIntact }
}

extension [UInt8] {
  fileprivate mutating func replace(_ old: [UInt8], with new: [UInt8]) {
    guard let place = firstRange(of: old) else { return }
    replaceSubrange(place, with: new)
  }
}

/// A chain of records, with a code that is not cryptographic but works just as well for this test.
struct Chain {
  var lines: [[UInt8]] = []
  var heads: [AuditHead] = []

  init(_ count: Int, outcome: String = "ok", keeping kept: [Int: UInt64] = [:]) {
    for number in stride(from: 1, through: count, by: 1) {
      let entry = AuditEntry(
        action: .refresh, session: SessionID("s1"), account: AccountID("ada"),
        at: UnixTime(seconds: 1_800_000_000 + Int64(number)), outcome: outcome)
      let record = AuditRecord(
        sequence: UInt64(number), entry: entry, writer: AuditWriter(program: "forum", process: 7), kept: kept[number],
        previous: heads.last?.code ?? .none)
      let line = AuditLine(record, authenticate: Chain.code)
      lines.append(line.bytes)
      heads.append(line.head)
    }
  }

  var bytes: [UInt8] { lines.flatMap { $0 } }

  func trail(_ bytes: [UInt8]? = nil) -> AuditTrail { trail(bytes ?? self.bytes, head: heads.last) }

  func trail(_ bytes: [UInt8]? = nil, head: AuditHead?) -> AuditTrail {
    AuditTrail(bytes ?? self.bytes, head: head, authenticate: Chain.code)
  }

  /// Four FNV-1a sums with different offsets.
  @Sendable static func code(_ bytes: [UInt8]) -> AuditCode {
    let sums = (0..<4 as Range<UInt64>).map { start in
      bytes.reduce(0xcbf2_9ce4_8422_2325 &+ start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
    return AuditCode(sums.flatMap { sum in (0..<8).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) } }) ?? .none
  }

  static let oddEntries = [
    AuditEntry(action: .end, session: nil, account: nil, at: UnixTime(milliseconds: -1), outcome: ""),
    AuditEntry(
      action: .signIn(.deviceCode), session: nil, account: nil, address: "ada@example.org", at: UnixTime(seconds: 1),
      outcome: "access_denied"),
    AuditEntry(
      action: .other("of tomorrow"), session: SessionID("ünï \u{1f511}\u{e0001}\u{10ffff}"),
      account: AccountID("\"\\\n\r\t\u{1b}[31m\u{202e}\u{2028}\u{0}\u{7f}\u{85}"),
      at: UnixTime(milliseconds: .max), outcome: "}\",\"mac\":\"x"),
  ]
}
