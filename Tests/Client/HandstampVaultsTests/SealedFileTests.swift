import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) struct `A sealed file beside a vault` {
  private let home: NewFolder
  private let file: SealedFile

  init() throws {
    home = try NewFolder()
    file = SealedFile(
      beside: home.vault(key: .raw(Secret(bytes: 0..<32))), account: AccountID("ada"),
      purpose: "client", limit: 1 << 10)
  }

  private var name: String { home.names(ending: ".client").first ?? "none" }

  @Test func `has the format of a vault`() throws {
    #expect(try file.read() == nil)
    try file.write(Array("content".utf8))
    #expect(try file.read() == Array("content".utf8))
    #expect(try home.bytes(name).starts(with: "HSTVAULT".utf8))
  }

  @Test func `of an early format is refused, and stays`() throws {
    try file.write([])
    let early = Array("HSTSEAL1".utf8) + [UInt8](repeating: 7, count: 70)
    try home.write(early, to: name)
    #expect(throws: VaultError.newerFormat("another version of the program stored this, in an early format")) {
      try file.read()
    }
    #expect(try home.bytes(name) == early)
  }

  @Test func `with any byte changed is corrupt, or another key's`() throws {
    try file.write(Array("content".utf8))
    let whole = try home.bytes(name)
    for index in whole.indices {
      var bytes = whole
      bytes[index] ^= 1
      try home.write(bytes, to: name)
      #expect(throws: VaultError.self) { try file.read() }
    }
  }
}
