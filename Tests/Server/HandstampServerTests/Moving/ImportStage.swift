#if Programs
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampTesting

/// A registry to import into, without a server.
struct ImportStage {
  let store = FaultyStore()
  let registry: Registry
  let administration: Administration
  static let now = UnixTime(seconds: 1_800_000_000)

  init(clients: [ConfiguredClient] = []) throws {
    var random = SystemRandomNumberGenerator()
    registry = Registry(store: store, mint: TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random)))
    administration = Administration(
      registry, by: .machineUser("bob"),
      configuration: ServerConfiguration {
        $0.clients = clients
        $0.now = { ImportStage.now }
      })
  }

  static func options(_ format: ImportFormat, merges: Bool = false, isTrial: Bool = false) -> ImportOptions {
    var options = ImportOptions(format)
    (options.merges, options.isTrial) = (merges, isTrial)
    options.firebase = FirebaseHashing(configuration: ImportSamples.firebaseConfiguration)
    return options
  }

  @discardableResult
  func add(
    _ text: String, from format: ImportFormat = .handstamp, merges: Bool = false, isTrial: Bool = false,
    pieces: Int = 1000
  ) async throws -> ImportReport {
    try await administration.importAccounts(
      text.pieces(pieces), options: Self.options(format, merges: merges, isTrial: isTrial))
  }

  func accounts() async throws -> [AccountRecord] { try await administration.accounts(limit: 1000) }

  func account(_ email: String) async throws -> AccountRecord? {
    try await accounts().first { $0.email?.normalized == email }
  }

  func exported(withSecrets: Bool = true) async throws -> String {
    try await administration.exported(withSecrets: withSecrets)
  }
}

extension Administration {
  func exported(withSecrets: Bool) async throws -> String {
    var bytes: [UInt8] = []
    _ = try await exportAccounts(withSecrets: withSecrets) { bytes += $0 }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension String {
  /// The bytes, some at a time.
  func pieces(_ size: Int) -> AsyncStream<ArraySlice<UInt8>> {
    let bytes = Array(utf8)
    return AsyncStream { stream in
      for start in stride(from: 0, to: bytes.count, by: size) {
        stream.yield(bytes[start..<min(start + size, bytes.count)])
      }
      stream.finish()
    }
  }
}

extension ImportReport {
  var counts: [Int] { [created, merged, unchanged, refused] }
  var codes: [String] { refusals.map { "\($0.line) \($0.reason.code.rawValue)" } }
}
#endif
