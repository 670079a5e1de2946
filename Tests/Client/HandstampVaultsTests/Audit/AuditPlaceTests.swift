import Foundation
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) struct `An audit log` {
  enum Kind: CaseIterable { case file, keychain, memory }

  let home: NewFolder
  let device = EmulatedKeychain.Device()
  private let memory = MemoryVault()

  init() throws { home = try NewFolder() }

  private var keychain: KeychainVault {
    KeychainVault(EmulatedKeychain(device), service: "forum", account: AccountID("ada"), folder: home.vaults)
  }

  /// The vault and the log, opened as by another program.
  private func open(_ kind: Kind) -> (vault: any Vault, log: FileAuditLog) {
    switch kind {
    case .file: return (home.vault(), FileAuditLog(home.vault(), program: "forum"))
    case .keychain: return (keychain, FileAuditLog(keychain, program: "forum"))
    case .memory:
      let place = AuditPlace(
        folder: home.vaults, account: AccountID("ada"), key: .file(home.vaults + "/audit.key"))
      return (memory, FileAuditLog(memory, in: place, program: "forum"))
    }
  }

  private func record(_ numbers: ClosedRange<Int>, _ kind: Kind) async throws {
    let (vault, log) = open(kind)
    for number in numbers { await log.record(.sample(number)) }
    #expect(log.trouble == nil)
    #expect(log.head != nil)
    guard case .done = await vault.edit(.begin(VaultSamples.session()), noting: log) else {
      throw VaultError.unavailable("the head was not stored")
    }
  }

  @Test(arguments: Kind.allCases)
  func `that was cut is detected, whatever the vault`(kind: Kind) async throws {
    try await record(1...3, kind)
    #expect(try await open(kind).log.trail().verdict == .intact(newer: 0))
    let lines = try home.bytes(home.log).split(separator: 10).map { Array($0) + [10] }
    try home.write(lines.prefix(2).flatMap { $0 }, to: home.log)
    #expect(try await open(kind).log.trail().verdict == .cut(after: 2, head: 3))
    try home.remove(home.log)
    #expect(try await open(kind).log.trail().verdict == .cut(after: 0, head: 3))
  }

  @Test(arguments: Kind.allCases)
  func `with a changed or forged line is broken, whatever the vault`(kind: Kind) async throws {
    try await record(1...3, kind)
    var bytes = try home.bytes(home.log)
    let place = try #require(bytes.firstRange(of: Array("outcome 2".utf8)))
    bytes[place.lowerBound] ^= 1
    try home.write(bytes, to: home.log)
    #expect(try await open(kind).log.trail().verdict == .broken(at: 2, .altered))
  }

  @Test func `beside a vault that forgets is checked without a head after a restart`() async throws {
    try await record(1...3, .memory)
    let lines = try home.bytes(home.log).split(separator: 10).map { Array($0) + [10] }
    try home.write(lines.prefix(2).flatMap { $0 }, to: home.log)
    let place = AuditPlace(folder: home.vaults, account: AccountID("ada"), key: .file(home.vaults + "/audit.key"))
    let later = FileAuditLog(MemoryVault(), in: place, program: "forum")
    #expect(try await later.trail().verdict == .intact(newer: 2))
  }

  @Test(arguments: [Kind.keychain, .memory])
  func `makes no key for vaults that do not exist`(kind: Kind) async throws {
    try await record(1...1, kind)
    #expect(!home.names().contains("vault.key"))
    #expect(home.names().contains("audit.key") == (kind == .memory))
  }

  @Test func `has one key per keychain service, readable after the first unlock on this device`() async throws {
    try await record(1...1, .keychain)
    let bob = KeychainVault(
      EmulatedKeychain(device), service: "forum", account: AccountID("bob"), folder: home.vaults)
    await FileAuditLog(bob).record(.sample(1))
    let keys = device.items.filter { $0.key.service == "forum.audit" }
    #expect(keys.count == 1 && keys.first?.accessibility == .afterFirstUnlockThisDeviceOnly)
    #expect(keys.first?.data.count == 32)
  }

  @Test func `is written while the session is locked, but only checked with the session's head`() async throws {
    try await record(1...2, .keychain)
    device.set(.locked)
    let log = open(.keychain).log
    await log.record(.sample(3))
    #expect(log.trouble == nil)
    await #expect(throws: VaultError.locked) { try await log.trail() }
    device.set(.unlocked)
    #expect(try await log.trail().verdict == .intact(newer: 1))
  }

  @Test(arguments: [false, true])
  func `waits before the first unlock, and creates no second key`(hides: Bool) async throws {
    try await record(1...2, .keychain)
    if hides { device.hideBeforeFirstUnlock() }
    device.set(.beforeFirstUnlock)
    let log = open(.keychain).log
    await log.record(.sample(3))
    #expect(log.trouble == .locked)
    device.set(.unlocked)
    await log.record(.sample(4))
    #expect(log.trouble == nil)
    let trail = try await log.trail()
    #expect(trail.verdict == .intact(newer: 2))
    #expect(trail.lines.compactMap { $0?.entry } == (1...4).map { .sample($0) })
  }

  @Test func `whose key is gone waits, and no other key takes its place`() async throws {
    try await record(1...2, .keychain)
    device.change { $0.removeAll { $0.key.service == "forum.audit" } }
    let log = open(.keychain).log
    await log.record(.sample(3))
    guard case .wrongKey = log.trouble else {
      Issue.record("\(String(describing: log.trouble))")
      return
    }
    #expect(!device.items.contains { $0.key.service == "forum.audit" })
    await #expect(throws: VaultError.self) { try await log.trail() }
  }

  @Test func `keeps a vault from making a new key, as another vault does`() async throws {
    await open(.file).log.record(.sample(1))
    try home.remove("vault.key")
    guard case .failed(.wrongKey) = await home.vault().edit(.begin(VaultSamples.session())) else {
      Issue.record("a key was made")
      return
    }
    #expect(!home.names().contains("vault.key"))
  }
}
