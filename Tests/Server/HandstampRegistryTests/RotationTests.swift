import HandstampCore
import Testing

@testable import HandstampRegistry

/// A row after rotations with the keys 1, 2, 3 …: token number `c` carries the mark of key `c`.
func row(
  rotations: UInt64, kind: SessionKind = .keyed, client: SessionClient? = nil, ring: [KeyRing.Entry]? = nil
) -> SessionRow {
  let all = (0..<rotations).map { KeyRing.Entry.keyed(mark($0 + 1)) }
  return SessionRow(
    session: session(1), account: AccountID("ada"),
    device: DeviceInfo(id: DeviceID("phone"), name: "Phone", platform: "ios"), kind: kind, client: client,
    counter: rotations,
    ring: KeyRing(ring ?? Array(all.suffix(KeyRing.size))), createdAt: start, revision: Int64(rotations))
}

func token(_ counter: UInt64, mark number: UInt64? = nil) -> RefreshClaims {
  RefreshClaims(session: session(1), counter: counter, mark: counter == 0 ? .zero : mark(number ?? counter))
}

@Suite(.timeLimit(.minutes(10))) struct `A rotation` {
  let rotation = Rotation()

  /// The kind of an outcome, without its payload.
  private func outline(_ outcome: RefreshOutcome) -> String {
    switch outcome {
    case .issued(let issue): outline(issue)
    case .theft(_, let sign): "theft: \(sign)"
    case .ended(let reason): "ended: \(reason)"
    case .invalidRequest: "invalid request"
    case .superseded: "superseded"
    case .forged, .otherClient, .notGranted, .otherProof: "\(outcome)"
    }
  }

  private func outline(_ issue: RefreshOutcome.Issue) -> String {
    let (counter, row) = (issue.token.counter, "row at \(issue.row.counter)")
    return switch issue.course {
    case .rotated: "rotate to \(counter), \(row)"
    case .kept: "stay at \(counter), \(row)"
    case .fastForwarded(let lost): "fast-forward by \(lost) to \(counter), \(row)"
    case .repeated: "again \(counter)\(issue.row.revision == Int64(counter) ? "" : ", with keys from now on")"
    }
  }

  /// A retry of the last rotation of `row`, which stays as it is.
  private func again(_ row: SessionRow, _ token: RefreshClaims) -> RefreshOutcome {
    .issued(RefreshOutcome.Issue(row, token, .repeated))
  }

  /// The row and the token of a refresh with that course.
  private func issued(
    _ outcome: RefreshOutcome, _ course: RefreshOutcome.Course
  ) throws -> (row: SessionRow, token: RefreshClaims) {
    guard case .issued(let issue) = outcome, issue.course == course else { throw Unexpected(outcome) }
    return (issue.row, issue.token)
  }

  func decide(
    _ row: SessionRow, _ token: RefreshClaims, key: UInt64?, drawn: UInt64 = 1000, now: UnixTime = after(.seconds(60))
  ) -> RefreshOutcome {
    rotation.decide(row: row, token: token, key: key.map(mark), drawn: mark(drawn), now: now)
  }

  @Test(
    arguments: [
      // rotations so far, token, its mark, key, outcome
      (0, 0, 0, 1, "rotate to 1, row at 1"),
      (0, 0, 0, nil, "invalid request"),
      (1, 0, 0, 1, "again 1"),
      (1, 0, 0, 9, "theft: twoKeys"),
      (1, 1, 1, 2, "rotate to 2, row at 2"),
      (1, 1, 9, 2, "theft: forkedBranch"),
      (5, 5, 5, 6, "rotate to 6, row at 6"),
      (5, 5, 5, nil, "invalid request"),
      (5, 5, 9, 6, "theft: forkedBranch"),
      (5, 4, 4, 5, "again 5"),
      (5, 4, 4, 9, "theft: twoKeys"),
      (5, 4, 9, 5, "theft: forkedBranch"),
      (5, 4, 4, nil, "invalid request"),
      (5, 3, 3, 4, "superseded"),
      (5, 0, 0, 1, "superseded"),
      (5, 3, 3, 9, "theft: twoKeys"),
      (5, 3, 9, 4, "theft: forkedBranch"),
      (5, 0, 0, 9, "theft: twoKeys"),
      (40, 8, 8, 9, "superseded"),
      (40, 8, 8, 99, "theft: twoKeys"),
      (40, 7, 7, 8, "theft: ancient"),
      (40, 0, 0, 1, "theft: ancient"),
      (5, 6, 6, 7, "fast-forward by 1 to 7, row at 7"),
      (5, 8, 99, 9, "fast-forward by 3 to 9, row at 9"),
      (0, 1, 77, 2, "fast-forward by 1 to 2, row at 2"),
      (5, (1 << 56) - 1, 3, 9, "fast-forward by 72057594037927930 to 72057594037927936, row at 72057594037927936"),
      (5, 8, 8, nil, "invalid request"),
    ] as [(UInt64, UInt64, UInt64, UInt64?, String)])
  func `of a keyed session follows the table`(
    rotations: UInt64, counter: UInt64, made: UInt64, key: UInt64?, outcome: String
  ) {
    #expect(outline(decide(row(rotations: rotations), token(counter, mark: made), key: key)) == outcome)
  }

  /// A row of an OAuth session: K is a keyed rotation, D a drawn one, ? a lost one.
  private func oauth(_ rotations: String) -> SessionRow {
    let ring = rotations.enumerated().map { offset, letter -> KeyRing.Entry in
      switch letter {
      case "K": .keyed(mark(UInt64(offset) + 1))
      case "D": .drawn(mark(UInt64(offset) + 1))
      default: .unknown
      }
    }
    return row(
      rotations: UInt64(rotations.count), kind: rotations.contains("K") ? .keyed : .plain,
      client: SessionClient(id: "app", scope: ""), ring: ring)
  }

  @Test(
    arguments: [
      // rotations so far, token, its mark, key, seconds since the last rotation, outcome
      ("", 0, 0, nil, 5, "rotate to 1, row at 1"),
      ("", 0, 0, 1, 5, "rotate to 1, row at 1"),
      ("DDDDD", 5, 5, nil, 5, "rotate to 6, row at 6"),
      ("DDDDD", 4, 4, nil, 119, "again 5"),
      ("DDDDD", 4, 4, nil, 120, "again 5"),
      ("DDDDD", 4, 4, 77, 120, "again 5, with keys from now on"),
      ("DDDDD", 4, 4, nil, -120, "again 5"),
      ("DDDDD", 4, 4, nil, -121, "theft: replayed"),
      ("DDDDD", 4, 4, nil, 121, "theft: replayed"),
      ("DDDDD", 4, 4, 77, 121, "theft: replayed"),
      ("DDDDD", 4, 9, nil, 5, "theft: forkedBranch"),
      ("DDDDD", 3, 3, nil, 5, "theft: replayed"),
      ("DDDDD", 5, 9, nil, 5, "theft: forkedBranch"),
      ("DDDDD", 7, 7, nil, 5, "fast-forward by 2 to 8, row at 8"),
      ("KKKKK", 5, 5, 6, 5, "rotate to 6, row at 6"),
      ("KKKKK", 5, 5, nil, 5, "rotate to 6, row at 6"),
      ("KKKKK", 4, 4, 5, 86_400, "again 5"),
      ("KKKKK", 4, 4, 9, 5, "theft: twoKeys"),
      ("KKKKK", 4, 4, nil, 5, "theft: keyLeftOut"),
      ("KKKKK", 3, 3, 4, 5, "superseded"),
      ("KKKKK", 3, 3, nil, 5, "theft: keyLeftOut"),
      ("KKKKD", 4, 4, nil, 5, "again 5"),
      ("KKKKD", 4, 4, 9, 5, "theft: twoKeys"),
      ("KKKKD", 4, 4, 9, 121, "theft: replayed"),
      ("KKKKD", 3, 3, 4, 121, "superseded"),
      ("DDDDK", 4, 4, nil, 5, "theft: keyLeftOut"),
      ("DDDDK", 4, 4, 5, 86_400, "again 5"),
      ("DDDDK", 3, 3, nil, 5, "theft: replayed"),
      ("DD?DD", 2, 2, nil, 5, "superseded"),
    ] as [(String, UInt64, UInt64, UInt64?, Int64, String)])
  func `of an OAuth session follows the table`(
    rotations: String, counter: UInt64, made: UInt64, key: UInt64?, seconds: Int64, outcome: String
  ) {
    let decided = decide(oauth(rotations), token(counter, mark: made), key: key, now: after(.seconds(seconds)))
    #expect(outline(decided) == outcome)
  }

  @Test(
    arguments: [
      ("DDDDD", 5, 5, nil, "stay at 5, row at 5"),
      ("KKKKK", 5, 5, nil, "stay at 5, row at 5"),
      ("DDDDD", 5, 5, 6, "rotate to 6, row at 6"),
      ("DDDDD", 4, 4, nil, "again 5"),
      ("DDDDD", 3, 3, nil, "superseded"),
      ("DDDDD", 5, 9, nil, "theft: forkedBranch"),
      ("KKKKK", 4, 4, nil, "theft: keyLeftOut"),
      ("KKKKK", 4, 4, 9, "theft: twoKeys"),
      ("KKKKK", 4, 4, 5, "again 5"),
      ("DDDDD", 7, 7, nil, "fast-forward by 2 to 8, row at 8"),
    ] as [(String, UInt64, UInt64, UInt64?, String)])
  func `of a client that proves itself follows the table`(
    rotations: String, counter: UInt64, made: UInt64, key: UInt64?, outcome: String
  ) {
    let decided = rotation.decide(
      row: oauth(rotations), token: token(counter, mark: made), key: key.map(mark), drawn: mark(1000),
      terms: RefreshTerms(isConstrained: true, overlap: .zero), now: after(.seconds(86_400)))
    #expect(outline(decided) == outcome)
  }

  @Test func `of a client that proves itself counts as a use, and changes nothing else`() throws {
    var expected = oauth("DD")
    let outcome = rotation.decide(
      row: expected, token: token(2), key: nil, drawn: mark(9), terms: RefreshTerms(isConstrained: true),
      now: after(.seconds(60)))
    expected.lastSeenAt = after(.seconds(60))
    expected.revision += 1
    let kept = try issued(outcome, .kept)
    #expect(kept.row == expected && kept.token == token(2))
  }

  @Test func `closes its overlap to the millisecond, by the store's clock alone`() {
    let row = oauth("DD")
    for far in [-40, 0, 40] as [Int64] {
      let now = after(.seconds(120 + far))
      let inside = rotation.decide(
        row: row, token: token(1), key: nil, drawn: .zero, now: now, stored: after(.milliseconds(120_000)))
      let outside = rotation.decide(
        row: row, token: token(1), key: nil, drawn: .zero, now: now, stored: after(.milliseconds(120_001)))
      #expect(inside == again(row, token(2)))
      #expect(outline(outside) == "theft: replayed")
    }
  }

  @Test func `dates a rotation by the store's clock, and its use by the server's`() throws {
    let outcome = rotation.decide(
      row: oauth("D"), token: token(1), key: nil, drawn: mark(2), now: after(.seconds(60)), stored: after(.seconds(20)))
    let next = try issued(outcome, .rotated).row
    #expect(next.rotatedAt == after(.seconds(20)) && next.lastSeenAt == after(.seconds(60)))
  }

  @Test func `makes a session keyed with the first key, and a key for a drawn rotation then ends it`() throws {
    let first = decide(oauth("D"), token(0), key: 7, now: after(.seconds(5)))
    let (keyed, successor) = try issued(first, .repeated)
    #expect(successor == token(1) && keyed.kind == .keyed && !keyed.isKeyed)
    #expect(outline(decide(keyed, token(0), key: 7, now: after(.seconds(5)))) == "theft: twoKeys")
    #expect(decide(keyed, token(0), key: nil, now: after(.seconds(5))) == again(keyed, token(1)))
    let second = decide(oauth("D"), token(1), key: 2)
    let rotated = try issued(second, .rotated).row
    #expect(rotated.kind == .keyed && rotated.isKeyed)
  }

  @Test func `of a client without keys draws the key, and a retry gets that key's successor`() throws {
    let first = decide(oauth(""), token(0), key: nil, drawn: 50, now: start)
    let (row, successor) = try issued(first, .rotated)
    #expect(successor == token(1, mark: 50) && !row.isKeyed)
    let second = decide(row, token(0), key: nil, drawn: 51, now: after(.seconds(30)))
    #expect(second == again(row, successor))
  }

  @Test func `records one rotation and changes nothing else in the row`() throws {
    var before = row(rotations: 5)
    before.idleLimit = .seconds(1000)
    before.absoluteExpiry = after(.seconds(5000))
    let outcome = decide(before, token(5), key: 6, now: after(.seconds(70)))
    let (after, successor) = try issued(outcome, .rotated)
    var expected = before
    expected.counter = 6
    expected.ring = KeyRing((1...6).map { .keyed(mark($0)) })
    expected.rotatedAt = start.advanced(by: .seconds(70))
    expected.lastSeenAt = expected.rotatedAt
    expected.revision += 1
    #expect(after == expected)
    #expect(successor == token(6))
  }

  @Test func `never moves the last use back when a clock runs backwards`() throws {
    var before = row(rotations: 1)
    before.lastSeenAt = after(.seconds(100))
    let outcome = decide(before, token(1), key: 2, now: after(.seconds(50)))
    let row = try issued(outcome, .rotated).row
    #expect(row.lastSeenAt == after(.seconds(100)))
  }

  @Test func `remembers the last 32 keys`() throws {
    var row = row(rotations: 0)
    for number in 0..<100 as Range<UInt64> {
      let outcome = decide(row, token(number), key: number + 1)
      row = try issued(outcome, .rotated).row
    }
    #expect(row.ring.entries == (69...100).map { .keyed(mark($0)) })
    #expect(outline(decide(row, token(68), key: 69)) == "superseded")
    #expect(outline(decide(row, token(67), key: 68)) == "theft: ancient")
  }

  @Test func `repeats the same successor after any time`() {
    for seconds in [0, 31, 86_400, 86_400 * 3650] as [Int64] {
      let row = row(rotations: 5)
      #expect(decide(row, token(4), key: 5, now: after(.seconds(seconds))) == again(row, token(5)))
    }
  }

  @Test func `after lost commits follows the client, and assumes no token reuse`() throws {
    let outcome = decide(row(rotations: 3), token(8), key: 9)
    let (row, successor) = try issued(outcome, .fastForwarded(lost: 5))
    #expect(successor == token(9))
    #expect(
      row.ring.entries == [
        .keyed(mark(1)), .keyed(mark(2)), .keyed(mark(3)), .unknown, .unknown, .unknown, .unknown, .keyed(mark(8)),
        .keyed(mark(9)),
      ])
    // A retry of the fast-forward itself, of the lost rotations, and of the one that token 8 proves.
    #expect(decide(row, token(8), key: 9) == again(row, token(9)))
    for counter in 3...6 as ClosedRange<UInt64> {
      #expect(decide(row, token(counter), key: 77) == .superseded)
      #expect(decide(row, token(counter), key: counter + 1) == .superseded)
    }
    #expect(decide(row, token(7), key: 8) == .superseded)
    #expect(outline(decide(row, token(7), key: 77)) == "theft: twoKeys")
    #expect(outline(decide(row, token(8, mark: 99), key: 9)) == "theft: forkedBranch")
    #expect(outline(decide(row, token(2), key: 77)) == "theft: twoKeys")
  }

  @Test(arguments: EndReason.allCases)
  func `of an ended session reports why it ended, whatever is presented`(reason: EndReason) {
    var row = row(rotations: 5)
    row.end = SessionEnd(at: start, reason: reason)
    for (counter, made, key) in [(5, 5, 6), (4, 4, 9), (5, 9, 6), (0, 0, 1), (9, 9, 9)] as [(UInt64, UInt64, UInt64)] {
      #expect(decide(row, token(counter, mark: made), key: key) == .ended(reason))
    }
  }

  @Test func `respects the limits to the millisecond`() {
    var row = row(rotations: 1)
    row.absoluteExpiry = after(.seconds(100))
    row.idleLimit = .seconds(50)
    row.lastSeenAt = after(.seconds(40))
    #expect(outline(decide(row, token(1), key: 2, now: after(.milliseconds(89_999)))) == "rotate to 2, row at 2")
    #expect(decide(row, token(1), key: 2, now: after(.seconds(90))) == .ended(.idle))
    row.lastSeenAt = after(.seconds(60))
    #expect(outline(decide(row, token(1), key: 2, now: after(.milliseconds(99_999)))) == "rotate to 2, row at 2")
    #expect(decide(row, token(1), key: 2, now: after(.seconds(100))) == .ended(.expired))
    #expect(decide(row, token(0), key: 1, now: after(.seconds(100))) == .ended(.expired))
  }

  @Test func `ends a stolen session for token reuse, with that time`() throws {
    let outcome = decide(row(rotations: 5), token(4), key: 99, now: after(.seconds(7)))
    guard case .theft(let ended, .twoKeys) = outcome else { throw Unexpected(outcome) }
    var expected = row(rotations: 5)
    expected.end = SessionEnd(at: after(.seconds(7)), reason: .tokenReuseDetected)
    expected.revision += 1
    #expect(ended == expected)
  }

  #if Exploration
  @Test func `accepts every fault that the exploration must find`() throws {
    var rules = RotationRules()
    rules.ringSize = 2
    let short = Rotation(rules: rules)
    let row = row(rotations: 5, ring: [.keyed(mark(4)), .keyed(mark(5))])
    #expect(
      outline(short.decide(row: row, token: token(2), key: mark(3), drawn: .zero, now: start)) == "theft: ancient")
    let next = try issued(
      short.decide(row: row, token: token(5), key: mark(6), drawn: .zero, now: start), .rotated)
    #expect(next.row.ring.entries == [.keyed(mark(5)), .keyed(mark(6))])
    rules = RotationRules()
    rules.comparesMark = false
    let blind = Rotation(rules: rules).decide(
      row: row, token: token(5, mark: 9), key: mark(6), drawn: .zero, now: start)
    #expect(outline(blind) == "rotate to 6, row at 6")
    rules = RotationRules()
    rules.servesKeyless = true
    let lax = Rotation(rules: rules).decide(row: row, token: token(5), key: nil, drawn: mark(8), now: start)
    #expect(outline(lax) == "rotate to 6, row at 6")
  }
  #endif
}

/// An outcome that the test did not expect.
struct Unexpected: Error {
  let what: String
  init(_ what: Any) { self.what = "\(what)" }
}

@Suite(.timeLimit(.minutes(10))) struct `A key ring` {
  @Test(arguments: SessionKind.allCases) func `round-trips through its bytes`(kind: SessionKind) {
    var rings = [
      KeyRing(), KeyRing([.unknown]), KeyRing([.keyed(.zero)]),
      KeyRing([.keyed(KeyMark(rawValue: .max)), .unknown, .keyed(mark(3))]),
      KeyRing((0..<32).map { .keyed(mark($0)) }),
    ]
    if kind == .keyed { rings.append(KeyRing([.drawn(.zero), .keyed(.zero), .drawn(mark(7))])) }
    if kind == .plain { rings = [KeyRing(), KeyRing([.drawn(.zero), .unknown, .drawn(mark(7))])] }
    for ring in rings {
      #expect(KeyRing(bytes: ring.bytes(in: kind), in: kind) == ring)
      #expect(ring.bytes(in: kind).count == ring.entries.count * 9)
    }
  }

  @Test func `is not parsed from anything else`() {
    let zeroes = [UInt8](repeating: 0, count: 8)
    let odd: [[UInt8]] = [
      [1], [1] + zeroes.dropLast(), [3] + zeroes, [0] + zeroes.dropLast() + [1], [1] + zeroes + [0],
    ]
    for bytes in odd {
      #expect(KeyRing(bytes: bytes, in: .plain) == nil)
    }
    #expect(KeyRing(bytes: [2] + zeroes, in: .plain) == nil)
    #expect(KeyRing(bytes: [UInt8](repeating: 0, count: 9 * 256), in: .keyed) == nil)
    #expect(KeyRing(bytes: [UInt8](repeating: 0, count: 9 * 255), in: .keyed) != nil)
  }
}
