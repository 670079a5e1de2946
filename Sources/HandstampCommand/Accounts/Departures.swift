#if Programs
import Foundation
import HandstampCore
import HandstampVaults

/// Accounts that were taken off the list while their servers could not be told: a file each, so that processes need not
/// agree on anything. Nothing in it is a secret; the vault holds what ends the session.
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

  /// Each with the path of its file.
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

  /// The server knows.
  func remove(_ path: String) { unlink(path) }
}
#endif
