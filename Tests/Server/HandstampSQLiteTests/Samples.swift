#if Server
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import HandstampTesting

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

let start = FormatSamples.start
let ada = FormatSamples.account
func session(_ number: UInt64) -> SessionRow { FormatSamples.session(number) }

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
