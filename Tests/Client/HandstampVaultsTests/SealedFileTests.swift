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

  @Test func `with other letters is corrupt, and with another number of the format is refused; both stay`() throws {
    try file.write([])
    let whole = try home.bytes(name)
    for (letters, number, error) in [
      ("HSTSEAL1", [0, 2, 255, 253], VaultError.corrupt), ("HSTVAULT", [0, 2, 255, 254], .corrupt),
      ("HSTVAULT", [0, 2, 255, 253], .newerFormat("another version of the program stored this, in format 2")),
    ] as [(String, [UInt8], VaultError)] {
      let other = Array(letters.utf8) + number + whole[12...]
      try home.write(other, to: name)
      #expect(throws: error) { try file.read() }
      #expect(try home.bytes(name) == other)
    }
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
