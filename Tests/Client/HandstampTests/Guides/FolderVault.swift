import Foundation
import Handstamp

/// A file for the entry, and one for each lock. The folder must be its owner's alone: tokens are stored as they are.
struct FolderVault: Vault {
  let folder: URL
  private var file: URL { folder.appendingPathComponent("entry") }

  @concurrent func load() async -> VaultReading {
    do {
      let bytes = try Data(contentsOf: file)
      let revision = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
      return try .value(VaultEntry(revision: revision, encoded: Secret(bytes: bytes.dropFirst(8))))
    } catch CocoaError.fileReadNoSuchFile where access(folder.path, F_OK) == 0 { return .absent } catch {
      return .trouble(error as? VaultError ?? .unavailable("\(error)"))
    }
  }

  @concurrent func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    let lock = try await FileLock(folder.appendingPathComponent("store.lock"), within: .seconds(10), isUrgent: true)
    defer { lock.unlock() }
    switch await load() {
    case .value(let found) where found.revision != revision: return .lost(found)
    case .absent where revision != 0: return .lost(nil)
    // A second name of its own: nothing is overwritten, and there is no instant without an entry.
    case .trouble(.corrupt) where write == .begin && link(file.path, file.path + ".corrupt-\(UUID())") == 0: break
    case .trouble(.corrupt) where write == .signOut: break
    case .trouble(let trouble): throw trouble
    case .value, .absent, .accessOnly: break
    }
    if write == .signOut {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
      for name in names where name.hasPrefix("entry.corrupt-") { unlink(folder.appendingPathComponent(name).path) }
    }
    let new = folder.appendingPathComponent("new")
    let bytes = withUnsafeBytes(of: entry.revision.bigEndian) { Data($0) } + entry.encoded.withExposedBytes { Data($0) }
    guard (try? bytes.write(to: new)) != nil, sync(new), rename(new.path, file.path) == 0, sync(folder) else {
      if write.endsSession, entry.session == nil { unlink(file.path) }
      throw .unavailable("the vault cannot be written")
    }
    return .done
  }

  @concurrent func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await FileLock(folder.appendingPathComponent("\(kind.rawValue).lock"), within: limit)
  }

  func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }

  private func sync(_ place: URL) -> Bool { (try? FileHandle(forReadingFrom: place).synchronize()) != nil }
}

/// The kernel releases it when the process dies. Cancelling the task ends the wait for one that is not urgent.
final class FileLock: VaultLock {
  private let file: Int32

  init(_ place: URL, within limit: Duration, isUrgent: Bool = false) async throws(VaultError) {
    file = open(place.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    let end = ContinuousClock.now + limit
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK, ContinuousClock.now < end, isUrgent || !Task.isCancelled else {
        throw .unavailable("\(place.lastPathComponent) is held by another process, or cannot be opened")
      }
      // A task of its own, because in one that was cancelled no sleep takes time.
      await Task { _ = try? await ContinuousClock().sleep(for: .milliseconds(2)) }.value
    }
  }

  func unlock() { flock(file, LOCK_UN) }
  deinit { close(file) }
}
