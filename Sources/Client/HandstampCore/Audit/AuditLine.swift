import HandstampSupport

/// A record as one line of JSON (RFC 8259), for people and for `jq`:
///
///     {"seq":7,"at":"2026-11-21T01:58:08Z","ms":1795226288123,"action":"sign_in","method":"passkey","outcome":"ok",
///      "account":"ada","session":"s1","program":"forum","pid":4711,"prev":"…","mac":"…"}
///
/// The code covers every byte before `,"mac":`; the rest has only one form, so that no byte can be changed undetected. Unknown
/// members are ignored: newer programs may write more.
package struct AuditLine: Sendable, Hashable {
  /// The longest line, in bytes, whatever the entry contains.
  package static let limit = 4096
  /// The longest text of a member, in bytes, escapes included; longer ones are cut.
  static let textLimit = 512
  private static let codeMember = Array(#","mac":""#.utf8)
  private static let codeCount = 43

  package var record: AuditRecord
  /// The bytes that the code authenticates.
  package var covered: [UInt8]
  package var code: AuditCode

  /// Serializes `record`; `authenticate` computes the code.
  package init(_ record: AuditRecord, authenticate: ([UInt8]) -> AuditCode) {
    var json = JSONText()
    json.add("seq", Int64(clamping: record.sequence))
    json.add("at", record.entry.at.description)
    json.add("ms", record.entry.at.milliseconds)
    let texts: [(StaticString, String?)] = [
      ("action", record.entry.action.description), ("method", record.entry.action.method?.rawValue),
      ("outcome", record.entry.outcome), ("account", record.entry.account?.rawValue),
      ("address", record.entry.address), ("session", record.entry.session?.rawValue),
      ("program", record.writer.program),
    ]
    for case (let name, let text?) in texts { json.add(name, shown: text, upTo: AuditLine.textLimit) }
    json.add("pid", record.writer.process)
    if let kept = record.kept { json.add("kept", Int64(clamping: kept)) }
    json.add("prev", record.previous.description)
    covered = json.bytes
    code = authenticate(covered)
    self.record = record
  }

  /// Parses a line, without its line break, without trusting any of it; `nil` unless it has the form of a record.
  package init?(_ line: some Collection<UInt8>) {
    let line = Array(line)
    let tail = AuditLine.codeMember.count + AuditLine.codeCount + 2
    guard line.count <= AuditLine.limit, line.count > tail else { return nil }
    covered = Array(line.dropLast(tail))
    let end = line.suffix(tail)
    guard end.starts(with: AuditLine.codeMember), end.suffix(2).elementsEqual(#""}"#.utf8),
      let bytes = Base64URL.decode(end.dropFirst(AuditLine.codeMember.count).dropLast(2)),
      let code = AuditCode(bytes), let members = JSONValue(covered + [UInt8(ascii: "}")]),
      let sequence = members["seq"]?.integer.flatMap({ UInt64(exactly: $0) }), sequence > 0,
      let time = members["ms"]?.integer,
      let action = members["action"]?.string, let outcome = members["outcome"]?.string,
      let program = members["program"]?.string, let process = members["pid"]?.integer,
      let previous = members["prev"]?.string.flatMap({ Base64URL.decode($0) }).flatMap({ AuditCode($0) })
    else { return nil }
    self.code = code
    record = AuditRecord(
      sequence: sequence,
      entry: AuditEntry(
        action: AuditEntry.Action(action, method: members["method"]?.string),
        session: members["session"]?.string.map { SessionID($0) },
        account: members["account"]?.string.map { AccountID($0) }, address: members["address"]?.string,
        at: UnixTime(milliseconds: time), outcome: outcome),
      writer: AuditWriter(program: program, process: process),
      kept: members["kept"]?.integer.flatMap { UInt64(exactly: $0) }, previous: previous)
  }

  /// The line, with its line break.
  package var bytes: [UInt8] {
    covered + AuditLine.codeMember + Array(code.description.utf8) + Array("\"}\n".utf8)
  }

  package var head: AuditHead { AuditHead(sequence: record.sequence, code: code) }
}
