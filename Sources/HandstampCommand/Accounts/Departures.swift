#if Programs
import Foundation
import HandstampCore
import HandstampVaults

/// Accounts that were removed from the list with a revocation pending. One file per account, so that processes do not need to
/// coordinate. Nothing in it is secret; the vault holds the revocation handle.
struct Departures: Sendable {
  struct Departure: Sendable, Hashable, Codable {
    var account: AccountID
    var server: ServerAddress
  }

  let folder: String

  init(of home: Home) { folder = home.path + "/leaving" }

  func add(_ departure: Departure) throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(departure)
    try data.write(
      to: URL(fileURLWithPath: "\(folder)/\(UInt64.random(in: 0 ... .max)).json"), options: .atomic)
  }

  /// All departures, each with the path of its file.
  var all: [(departure: Departure, path: String)] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().compactMap { name in
      let path = "\(folder)/\(name)"
      guard name.hasSuffix(".json"), case .content(let bytes) = PlainFile.read(path),
        let departure = try? JSONDecoder().decode(Departure.self, from: Data(bytes))
      else { return nil }
      return (departure, path)
    }
  }

  /// Removes a departure once the server knows of it.
  func remove(_ path: String) { unlink(path) }
}
#endif
