#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// How an import reads its records, and what it does with accounts that are here.
public struct ImportOptions: Sendable, Hashable {
  public var format: ImportFormat
  /// Whether accounts that are here get what they lack. Otherwise nothing is written to them.
  public var merges = false
  /// Whether nothing is written.
  public var isTrial = false
  /// For ``ImportFormat/firebase``.
  public var firebase: FirebaseHashing?
  /// The issuers of providers by the names that the export has for them, such as `["github": "https://github.com"]`. An identity at a
  /// provider is its issuer and the user's ID there. Google and Apple are known; other names may mean servers of a company's own, whose
  /// users have the same IDs as strangers elsewhere.
  public var issuers: [String: String] = [:]

  public init(_ format: ImportFormat) { self.format = format }

  /// Adds a provider, as in `github=https://github.com`.
  ///
  /// - Returns: `false` unless that is a name and a URL that can be an issuer.
  package mutating func addProvider(_ text: String) -> Bool {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty, Origin(parts[1])?.isTrustworthy == true else { return false }
    issuers[parts[0]] = parts[1]
    return true
  }
}

extension Administration {
  /// Stores the accounts of another system's export. Nothing is mailed to anyone.
  ///
  /// Accounts that are here keep what they have. So the same import can run again: it changes nothing, and after an interruption it
  /// stores the rest. Each account is stored whole or not at all, and a record that is refused keeps no other one from being stored.
  /// One with the ID of a client without users is refused: no token's subject may mean a client and an account (RFC 9068 section 5).
  /// The audit log gets an entry when the import begins to write, and one with the counts.
  ///
  /// - Parameters:
  ///   - source: the bytes of the export, in pieces of any size. One record is held at a time, and some hundred accounts.
  ///   - progress: called with the report so far, after each write.
  /// - Throws: ``AdministrationError/notOffered``; ``AdministrationError/registry(_:)`` if the store fails, when what was stored stays;
  ///   the error of `source`.
  public func importAccounts<Source: AsyncSequence & Sendable>(
    _ source: Source, options: ImportOptions, progress: @Sendable (ImportReport) -> Void = { _ in }
  ) async throws -> ImportReport where Source.Element: Sequence<UInt8> {
    guard !hasDirectory else { throw AdministrationError.notOffered }
    // They are the subjects of their tokens.
    let configured = configuration.clients.filter { $0.flows.contains(where: \.isForMachines) }.map(\.id)
    let machines = Set(configured + (try await machines()).map(\.client))
    var run = ImportRun(administration: self, machines: machines, reader: ImportReader(options: options))
    var records = ImportRecords(options.format)
    do {
      for try await bytes in source {
        let written = run.report
        for record in records.add(bytes) { try await run.add(record) }
        if run.report != written { progress(run.report) }
      }
      for record in records.end() { try await run.add(record) }
      try await run.flush()
    } catch {
      // The counts of what was written before; if the store cannot be written, its log cannot either.
      try? await run.finish()
      throw error
    }
    try await run.finish()
    return run.report
  }
}

/// One import: collects accounts, and stores them together.
private struct ImportRun {
  /// How many accounts are stored together.
  private static let batch = 256

  let administration: Administration
  /// The IDs of clients without users.
  let machines: Set<String>
  var reader: ImportReader
  var report = ImportReport()
  var waiting: [(line: Int, account: ArrivingAccount, left: Set<String>)] = []
  /// The IDs, addresses, identities and passkeys of those that wait, or of all if nothing is written.
  var keys: Set<Int> = []
  var hasBegun = false

  mutating func add(_ record: ImportRecords.Record) async throws(AdministrationError) {
    let (account, left): (ArrivingAccount, Set<String>)
    do throws(ImportError) {
      let imported = try reader.account(ImportFields(try record.content.get()))
      guard let imported else { return }
      (account, left) = try imported.arriving(in: administration.registry, at: administration.now())
      guard !account.keepsID || !machines.contains(account.record.id.rawValue) else {
        throw ImportError(.idOfClient)
      }
    } catch { return report.add(error, line: record.line) }
    let own = account.uniqueKeys
    if !keys.isDisjoint(with: own) {
      // The store decides between two records about one account, in the order of the file.
      if reader.options.isTrial {
        return report.add(account.repeated(in: keys), line: record.line, account.record.email, left: left)
      }
      try await flush()
    }
    keys.formUnion(own)
    waiting.append((record.line, account, left))
    if waiting.count >= ImportRun.batch { try await flush() }
  }

  mutating func flush() async throws(AdministrationError) {
    guard !waiting.isEmpty else { return }
    let (registry, batch, options, time) = (administration.registry, waiting, reader.options, administration.now())
    if !options.isTrial, !hasBegun {
      hasBegun = true
      try await administration.audit(.importBegan, details: #"{"from":"\#(options.format.rawValue)"}"#)
    }
    let arrivals = try await administration.ask(
      try await registry.receive(
        batch.map(\.account), merging: options.merges, isTrial: options.isTrial, now: time))
    for (entry, arrival) in zip(batch, arrivals) {
      report.add(arrival, line: entry.line, entry.account.record.email, left: entry.left)
    }
    waiting = []
    if !options.isTrial { keys = [] }
  }

  mutating func finish() async throws(AdministrationError) {
    guard hasBegun else { return }
    try await administration.audit(.accountsImported, details: report.described(withLines: false).text)
  }
}

extension ArrivingAccount {
  /// A hash of each value that no two accounts may have in common.
  fileprivate var uniqueKeys: Set<Int> {
    var keys: Set<Int> = passkeys.reduce(into: []) { $0.insert(["passkey", $1.id].hashValue) }
    if keepsID { keys.insert(["id", record.id.rawValue].hashValue) }
    if let email = record.email {
      keys.formUnion([["email", email.normalized].hashValue, ["typed", email.typed].hashValue])
    }
    for link in links { keys.insert(["identity", link.identity.key].hashValue) }
    return keys
  }

  /// The result for a record whose keys an earlier one of a trial has.
  fileprivate func repeated(in keys: Set<Int>) -> Arrival {
    let hasID = keepsID && keys.contains(["id", record.id.rawValue].hashValue)
    let hasEmail = record.email.map { keys.contains(["email", $0.normalized].hashValue) }
    if hasID { return hasEmail == false ? .refused(.idTaken) : .unchanged }
    if hasEmail == true {
      let isSame = !keepsID && keys.contains(["typed", record.email?.typed ?? ""].hashValue)
      return isSame ? .unchanged : .refused(.addressTaken)
    }
    return .refused(passkeys.isEmpty ? .identityTaken : .passkeyTaken)
  }
}
#endif
