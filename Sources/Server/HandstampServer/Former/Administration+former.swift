#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// The result of an import of former tokens.
public struct FormerImport: Sendable, Hashable {
  /// A line that was not imported.
  public struct Refusal: Sendable, Hashable {
    /// The number of the line, from 1 on.
    public var line: Int
    public var reason: String
  }

  /// How many tokens were stored.
  public var imported = 0
  /// How many were stored before. They stay as they are, also if they are used.
  public var known = 0
  public var refused: [Refusal] = []

  public init() {}
}

extension Administration {
  /// How many lines are stored in one write.
  public static let formerBatch = 500

  /// Imports refresh tokens of the former system, so that their sessions can be taken over without asking it. May be repeated.
  ///
  /// A line is a JSON object with `account`, the account's ID here, and `token`, or instead of that `sha256`, its SHA-256 in hexadecimal.
  /// `auth_time`, when the user signed in, and `expires` are optional, in seconds since 1970. Only the SHA-256 is stored.
  ///
  /// - Parameters:
  ///   - lines: at most ``formerBatch``. Empty ones are ignored.
  ///   - first: the number of the first one.
  public func importFormer(
    _ lines: [[UInt8]], from first: Int = 1
  ) async throws(AdministrationError) -> FormerImport {
    var result = FormerImport()
    var entries: [(line: Int, entry: FormerEntry)] = []
    for (index, line) in lines.enumerated() where !line.allSatisfy({ [9, 13, 32].contains($0) }) {
      switch FormerEntry.read(line) {
      case .success(let entry): entries.append((first + index, entry))
      case .failure(let defect):
        result.refused.append(FormerImport.Refusal(line: first + index, reason: defect.description))
      }
    }
    let rows = entries.map(\.entry)
    let stored = try await ask(try await registry.importFormer(rows, now: now()))
    for ((line, _), isNew) in zip(entries, stored) {
      switch isNew {
      case true?: result.imported += 1
      case false?: result.known += 1
      case nil: result.refused.append(FormerImport.Refusal(line: line, reason: "there is no such account"))
      }
    }
    result.refused.sort { $0.line < $1.line }
    return result
  }
}

extension FormerEntry {
  /// The most bytes of a line.
  package static let longest = 1 << 16

  static func read(_ line: [UInt8]) -> Result<FormerEntry, DescribedError> {
    guard line.count <= longest else { return .failure(DescribedError("longer than 64 KiB")) }
    guard case .object(let members)? = JSONValue(line) else { return .failure(DescribedError("not a JSON object")) }
    guard let account = members["account"]?.string, !account.isEmpty else {
      return .failure(DescribedError("account is missing"))
    }
    let id: StoredItemID?
    switch (members["token"]?.string, members["sha256"]?.string) {
    case (let token?, nil): id = FormerToken.id(of: Secret(token))
    case (nil, let text?): id = Hexadecimal.bytes(text.utf8).flatMap { FormerToken.id(ofHash: $0) }
    case (_, _): id = nil
    }
    guard let id else { return .failure(DescribedError("token or sha256 is missing or malformed")) }
    var times: [UnixTime?] = []
    for name in ["auth_time", "expires"] {
      switch members[name] {
      case nil, .null?: times.append(nil)
      case let value?:
        guard let seconds = value.integer, (0..<(1 << 36)).contains(seconds) else {
          return .failure(DescribedError("auth_time and expires must be seconds since 1970"))
        }
        times.append(UnixTime(seconds: seconds))
      }
    }
    return .success(
      FormerEntry(id: id, account: AccountID(account), authenticatedAt: times[0], expiresAt: times[1]))
  }
}
#endif
