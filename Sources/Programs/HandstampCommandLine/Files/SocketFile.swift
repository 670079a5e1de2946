#if Command
import Foundation
package import HandstampSupport

/// The file of a Unix domain socket that this program listens on.
package struct SocketFile: Sendable {
  /// Absolute.
  package let path: String
  /// The advice in refusals that concern the path.
  private let hint: String

  /// The longest path in bytes (unix(7)): the field ends with a zero.
  package static let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// - Throws: A refusal if the path is longer than the system allows. Nothing is read or created.
  package init(_ path: String, hint: String) throws(CommandError) {
    self.path = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    self.hint = hint
    let count = self.path.utf8.count
    guard count <= SocketFile.longest, !self.path.hasSuffix("/"), !self.path.utf8.contains(0) else {
      throw CommandError(
        .usage,
        count > SocketFile.longest
          ? "the path of the socket has \(count) bytes, and the system allows \(SocketFile.longest)"
          : "\(self.path.onOneLine) is not the path of a file", hint: hint)
    }
  }

  private var folder: String { (path as NSString).deletingLastPathComponent }

  /// Makes the folder, for its owner only, unless it is there. In a folder where others can create files, one of them could take the
  /// path first, or replace the socket.
  package func makeFolder() throws(CommandError) {
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw CommandError(.failure, "cannot make the folder \(folder.onOneLine)", hint: hint)
    }
    let target = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
    guard let facts = FileFacts(target), facts.owner == geteuid(), facts.mode & 0o022 == 0 else {
      throw CommandError(
        .failure, "other users can write to \(folder.onOneLine), where the socket would be",
        hint: "use a folder of your own; if it is, run: chmod go-w \(shellWord(folder))")
    }
  }

  /// Removes a socket that a previous process has left. Anything else stays, a symbolic link included.
  package func makeRoom() throws(CommandError) {
    guard let facts = FileFacts(path) else { return }
    guard facts.isSocket else {
      throw CommandError(.configuration, "\(path.onOneLine) exists, and is no socket", hint: hint)
    }
    guard !isInUse else {
      throw CommandError(
        .configuration, "another process listens on \(path.onOneLine)", hint: "stop it, or use another path")
    }
    unlink(path)
  }

  private var isInUse: Bool {
    #if canImport(Darwin)
    let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #else
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 ? 0 : errno
      }
    }
    // Only a refused connection shows that no process listens.
    return code != ECONNREFUSED && code != ENOENT
  }

  /// The identity of the socket that is there now; `nil` if there is none.
  package var identity: FileIdentity? { FileIdentity(path: path) }

  /// Removes the socket if it is still the one of that identity.
  package func remove(_ identity: FileIdentity?) {
    if let identity, self.identity == identity { unlink(path) }
  }

  /// Runs `body` while no other process does the same in this folder: of two that start at once, the second one finds the socket of the
  /// first. The kernel releases the lock if this process ends.
  package func alone<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw CommandError(.failure, "cannot open \(folder.onOneLine)", hint: hint) }
    defer { close(descriptor) }
    let end = ContinuousClock.now + .seconds(5)
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard ContinuousClock.now < end else {
        throw CommandError(
          .failure, "another process holds the lock of \(folder.onOneLine)", hint: "stop it, or use another folder")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    return try await body()
  }
}
#endif
