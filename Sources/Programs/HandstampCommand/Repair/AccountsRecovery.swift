#if Command
import Foundation
import Handstamp
import HandstampCommandLine

/// Identifies the accounts of vaults that are missing from the list of accounts. A vault's name is a digest of its account's
/// ID, and a wrong ID neither yields that name nor opens the vault, so candidates are safe to try.
struct AccountsRecovery: Sendable {
  private let home: Home
  private let inspection: VaultInspection
  /// Account IDs, by vault digest.
  private var ids: [String: AccountID] = [:]
  /// Records from earlier lists.
  private var records: [AccountID: ListedAccount] = [:]
  /// Removed accounts in earlier lists.
  private var leaving: [AccountID] = []
  private(set) var active: AccountID?

  init(of home: Home, _ inspection: VaultInspection) {
    self.home = home
    self.inspection = inspection
    let texts = AccountsRecovery.texts(in: home, inspection)
    for text in texts {
      for record in AccountsRecovery.records(in: text) where records[record.id] == nil { records[record.id] = record }
      active = active ?? AccountsRecovery.strings(after: "active", in: text).first.map { AccountID($0) }
    }
    let settings = try? home.settings()
    var named = Set(records.keys)
    named.formUnion(texts.flatMap { AccountsRecovery.strings(after: "id", in: $0) }.map { AccountID($0) })
    named.formUnion(FolderRules(of: home).all.map(\.account))
    leaving = texts.flatMap { AccountsRecovery.leaving(in: $0) }
    named.formUnion(leaving)
    var servers: Set<String> = Set(named.compactMap { ServerAddress(of: $0)?.text })
    servers.formUnion((settings?.servers ?? []).map(\.text))
    if let server = settings?.server { servers.insert(server.text) }
    servers.formUnion(home.issuers)
    servers.formUnion(texts.flatMap { AccountsRecovery.strings(after: "server", in: $0) })
    for id in named { ids[VaultInspection.digest(of: id)] = id }
    for vault in inspection.vaults where ids[vault.digest] == nil {
      for account in AccountsRecovery.accounts(inLogOf: vault.digest, home) {
        for server in servers {
          let id = AccountID("\(server)#\(account.rawValue)")
          if VaultInspection.digest(of: id) == vault.digest { ids[vault.digest] = id }
        }
      }
    }
  }

  /// The account of the vault with this name, or `nil` if it cannot be determined.
  func account(of digest: String) -> AccountID? {
    ids[digest].flatMap { ServerAddress(of: $0) == nil ? nil : $0 }
  }

  /// Vaults with a session whose accounts should be on `list` but are not.
  func strays(beside list: AccountsList) -> [VaultInspection.Stored] {
    unlisted(in: list).filter(\.hasRoom)
  }

  /// The number of vaults with a pending revocation, but no session, whose accounts `list` does not name even as removed.
  func countOfUnrevoked(beside list: AccountsList) async -> Int {
    var count = 0
    for vault in unlisted(in: list) where !vault.hasRoom {
      guard let id = account(of: vault.digest), case .value(let entry) = await home.vault(of: id).read() else {
        continue
      }
      if !entry.unrevoked.isEmpty { count += 1 }
    }
    return count
  }

  private func unlisted(in list: AccountsList) -> [VaultInspection.Stored] {
    var known = Set(list.accounts.map { VaultInspection.digest(of: $0.id) })
    known.formUnion(list.leaving.map { VaultInspection.digest(of: $0) })
    return inspection.vaults.filter { !known.contains($0.digest) }
  }

  /// Adds every account that has a vault, and every one on an earlier list, to the list.
  func rebuild() async throws(CommandError) {
    var found = AccountsList()
    if case .success(let list) = await home.accounts.read() { found = list }
    var additions: [(account: ListedAccount, startedAt: UnixTime?)] = []
    for vault in inspection.vaults {
      guard let id = account(of: vault.digest), let server = ServerAddress(of: id) else { continue }
      let entry = if case .value(let entry) = await home.vault(of: id).read() { entry } else { VaultEntry() }
      let session = entry.session
      // A vault left by a sign-out does not need to be listed, unless it was before.
      guard session != nil || vault.hasRoom || records[id] != nil || found[id] != nil else {
        // Its revocation may be pending.
        let isLeaving = leaving.contains(id) || !entry.unrevoked.isEmpty
        if isLeaving { try await edit(.remove(id, isLeaving: true)) }
        continue
      }
      let known = found[id] ?? records[id]
      let name = known?.name ?? session?.profile?.name ?? String(id.rawValue.dropFirst(server.text.count + 1))
      let time = known?.addedAt ?? session?.startedAt.wall ?? UnixTime(milliseconds: 0)
      additions.append(
        (
          ListedAccount(
            id: id, name: name.isEmpty ? server.text : name, tag: known?.tag, server: server.text, addedAt: time),
          session?.startedAt.wall
        ))
    }
    for (id, record) in records where !additions.contains(where: { $0.account.id == id }) && found[id] == nil {
      var record = record
      record.server = ServerAddress(of: id)?.text ?? record.server
      additions.append((record, nil))
    }
    for listed in found.accounts where !listed.isUsable {
      guard let server = ServerAddress(of: listed.id) else { continue }
      var listed = listed
      listed.server = server.text
      additions.append((listed, nil))
    }
    for (account, _) in additions.sorted(by: { $0.account.addedAt < $1.account.addedAt }) {
      try await edit(.add(account))
    }
    // The previously active account, else the most recently signed-in one.
    let signedIn = additions.compactMap { account, startedAt in startedAt.map { (id: account.id, at: $0) } }
    let newest = signedIn.max { $0.at < $1.at }
    let isKnown = found.active.map { id in
      found[id] != nil && inspection.vaults.contains { $0.digest == VaultInspection.digest(of: id) }
    }
    if let active, additions.contains(where: { $0.account.id == active }) {
      try await edit(.activate(active))
    } else if isKnown != true, let newest {
      try await edit(.activate(newest.id))
    }
  }

  private func edit(_ edit: AccountsEdit) async throws(CommandError) {
    if case .failure(let trouble) = await home.accounts.edit(edit) { throw CommandError(trouble) }
  }

  // MARK: Remains

  /// The contents of the list, however damaged, and of the newest one that was set aside.
  private static func texts(in home: Home, _ inspection: VaultInspection) -> [[UInt8]] {
    let name = FileAccountsStore.fileName
    let aside = inspection.names.filter { $0.hasPrefix(name + ".corrupt-") }.sorted {
      $0.count == $1.count ? $0 > $1 : $0.count > $1.count
    }
    return ([name] + aside.prefix(1)).compactMap { name in
      guard case .content(let bytes) = PlainFile.read("\(home.vaultFolder)/\(name)") else { return nil }
      return bytes
    }
  }

  /// The innermost JSON objects that decode as accounts, from text that may be truncated or overwritten anywhere.
  private static func records(in text: [UInt8]) -> [ListedAccount] {
    var begin: Int?
    var records: [ListedAccount] = []
    for (index, byte) in text.enumerated() {
      if byte == UInt8(ascii: "{") { begin = index }
      if byte == UInt8(ascii: "}"), let start = begin {
        if let record = try? JSONDecoder().decode(ListedAccount.self, from: Data(text[start...index])) {
          records.append(record)
        }
        begin = nil
      }
    }
    return records
  }

  /// The strings that follow `"name" :`.
  private static func strings(after name: String, in text: [UInt8]) -> [String] {
    String(decoding: text, as: UTF8.self).split(separator: "\"\(name)\"").dropFirst().compactMap { rest in
      let value = rest.drop { $0 == " " || $0 == ":" }
      guard value.first == "\"", let end = value.dropFirst().firstIndex(of: "\"") else { return nil }
      return String(value[value.index(after: value.startIndex)..<end])
    }
  }

  /// The IDs of the removed accounts in text that may be truncated or overwritten anywhere.
  private static func leaving(in text: [UInt8]) -> [AccountID] {
    String(decoding: text, as: UTF8.self).split(separator: "\"leaving\"").dropFirst().flatMap { rest in
      let parts = rest.split(separator: "\"", omittingEmptySubsequences: false)
      // Every other part stands between quotation marks; an ID may contain a bracket, as in an IPv6 address.
      let ends = parts.indices.first { $0.isMultiple(of: 2) && parts[$0].contains("]") } ?? parts.endIndex
      return stride(from: 1, to: ends, by: 2).map { AccountID(String(parts[$0])) }
    }
  }

  /// The server-side IDs of the accounts in an audit log.
  private static func accounts(inLogOf digest: String, _ home: Home) -> Set<AccountID> {
    var found: Set<AccountID> = []
    for ending in [".audit", ".audit-older"] {
      guard case .content(let bytes) = PlainFile.read("\(home.vaultFolder)/\(digest)\(ending)") else { continue }
      for line in bytes.split(separator: UInt8(ascii: "\n")) {
        if let account = AuditLine(line)?.record.entry.account { found.insert(account) }
      }
    }
    return found
  }
}

extension Home {
  /// The servers of accounts that use OAuth.
  fileprivate var issuers: [String] {
    let folder = path + "/oauth"
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { name in
      let record: OAuthRecord? = PlainFile.value(at: "\(folder)/\(name)")
      return record?.issuer
    }.flatMap { issuer in [issuer, issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer] }
  }
}
#endif
