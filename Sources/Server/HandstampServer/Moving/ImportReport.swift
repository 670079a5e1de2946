#if Server
import HandstampRegistry
package import HandstampSupport

/// The result of an import. Of the accounts, it has the addresses that others have, and no hash.
public struct ImportReport: Sendable, Hashable {
  /// A record that was not taken.
  public struct Refused: Sendable, Hashable {
    /// The line that the record begins in, the first being 1.
    public let line: Int
    public let reason: ImportError
    /// The address that another account has.
    public let address: String?
  }

  /// Facts of one kind, such as `totp`, that have no place here.
  public struct Left: Sendable, Hashable {
    /// How many accounts have them.
    public var count = 0
    /// The lines of the first of these accounts.
    public var lines: [Int] = []
  }

  /// The most records that are listed, and the most lines of each kind of facts. All are counted.
  public static let mostListed = 10_000

  public private(set) var created = 0
  /// Accounts that were there, and got what they lacked.
  public private(set) var merged = 0
  public private(set) var unchanged = 0
  public private(set) var refused = 0
  /// The first of the refused records.
  public private(set) var refusals: [Refused] = []
  public private(set) var left: [String: Left] = [:]

  mutating func add(_ arrival: Arrival, line: Int, _ email: EmailAddress?, left kinds: Set<String>) {
    switch arrival {
    case .created: created += 1
    case .merged: merged += 1
    case .unchanged: unchanged += 1
    case .refused(let refusal):
      return add(ImportError(refusal), line: line, refusal == .addressTaken ? email?.typed : nil)
    }
    for kind in kinds {
      left[kind, default: Left()].count += 1
      if left[kind, default: Left()].count <= ImportReport.mostListed { left[kind]?.lines.append(line) }
    }
  }

  mutating func add(_ refusal: ImportError, line: Int, _ address: String? = nil) {
    refused += 1
    if refusals.count < ImportReport.mostListed {
      refusals.append(Refused(line: line, reason: refusal, address: address))
    }
  }

  /// For programs, and for the audit log without the lines.
  package func described(withLines: Bool = true) -> JSONText {
    var json = JSONText()
    json.add("created", Int64(created))
    json.add("merged", Int64(merged))
    json.add("unchanged", Int64(unchanged))
    json.add("refused", Int64(refused))
    guard withLines else { return json }
    json.add(
      "refusals",
      refusals.map { refusal in
        var item = JSONText()
        item.add("line", Int64(refusal.line))
        item.add("code", refusal.reason.code.rawValue)
        item.add("field", ifPresent: refusal.reason.field)
        item.add("address", ifPresent: refusal.address)
        item.add("hint", refusal.reason.hint)
        return item
      })
    json.add(
      "left",
      left.sorted { $0.key < $1.key }.map { kind, facts in
        var item = JSONText()
        item.add("kind", kind)
        item.add("count", Int64(facts.count))
        return item
      })
    return json
  }
}
#endif
