import Foundation
import HandstampCore
import Testing

@testable import HandstampVaults

@Suite(.timeLimit(.minutes(10))) struct `A sealed file beside a vault` {
  private let home: NewFolder
  private let file: SealedFile

  init() throws {
    home = try NewFolder()
    file = SealedFile(
      beside: home.vault(key: .raw(Secret(bytes: 0..<32))), account: AccountID("ada"),
      purpose: "client", limit: 1 << 10)
  }

  /// A file of a version before the formats became one, sealed with a key of the bytes 0 to 31.
  private let former =
    Data(
      base64Encoded: "SFNUU0VBTDE1DEYepAyc6GRlZmdoaWprbG1ub3BxcnPIycrLzM3Oz9DR0tM9"
        + "m79IZfIdZBD5mqyWh6tj/lAPb5SxIas0Dlwcw7Z8CPQ="
    ).map { [UInt8]($0) } ?? []

  private var name: String { home.names(ending: ".client").first ?? "none" }

  @Test func `has the format of a vault`() throws {
    #expect(try file.read() == nil)
    try file.write(Array("content".utf8))
    #expect(try file.read() == Array("content".utf8))
    #expect(try home.bytes(name).starts(with: "HSTVAULT".utf8))
  }

  @Test func `of an earlier version is read, and written anew in the format of a vault`() throws {
    try file.write([])
    try home.write(former, to: name)
    #expect(try file.read() == Array("a client's secret".utf8))
    try file.write(Array("new".utf8))
    #expect(try home.bytes(name).starts(with: "HSTVAULT".utf8))
    #expect(try file.read() == Array("new".utf8))
  }

  @Test(arguments: [false, true])
  func `with any byte changed is corrupt, or another key's`(isFormer: Bool) throws {
    try file.write(Array("content".utf8))
    let whole = isFormer ? former : try home.bytes(name)
    for index in whole.indices {
      var bytes = whole
      bytes[index] ^= 1
      try home.write(bytes, to: name)
      #expect(throws: VaultError.self) { try file.read() }
    }
  }
}
