#if Server
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSQLite

/// A new, empty folder.
func newFolder() throws -> String {
  let path = FileManager.default.temporaryDirectory.appendingPathComponent("registry-\(UUID().uuidString)").path
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  return path
}

/// A folder that is removed when the test releases it.
final class Folder: Sendable {
  let path: String
  init() throws { path = try newFolder() }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// It waits longer for locks than a server does: on a busy machine, two of them can be slow.
  var server: ServerFolder {
    var server = ServerFolder(path: path)
    server.patience = .seconds(120)
    return server
  }
}

let start = UnixTime(seconds: 1_800_000_000)

let ada = AccountRecord(
  id: AccountID("ada"), email: EmailAddress("ada@example.org"), username: "Ada", passwordHash: nil, createdAt: start)

func session(_ number: UInt64) -> SessionRow {
  var random = Numbered(base: number &* 2)
  let bytes = SessionBytes(from: &random)
  return SessionRow(
    session: bytes, account: ada.id, device: DeviceInfo(id: DeviceID("d\(number)"), name: "Phone", platform: "ios"),
    kind: .keyed, createdAt: start, absoluteExpiry: start.advanced(by: .seconds(1000)), idleLimit: .seconds(500))
}

/// Each even base yields two consecutive words.
private struct Numbered: RandomNumberGenerator {
  var base: UInt64
  mutating func next() -> UInt64 {
    base += 1
    return base &* 0x9E37_79B9_7F4A_7C15
  }
}

/// The permission bits of a file.
func mode(_ path: String) throws -> Int {
  try (FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue ?? -1
}

/// The error of opening the folder; `nil` if it opens.
func refusal(_ folder: ServerFolder) -> RegistryOpenError? {
  do throws(RegistryOpenError) {
    let store = try folder.open().store
    try? store.close()
    return nil
  } catch {
    return error
  }
}
#endif
