import HandstampSupport
import HandstampCore

/// A process that holds a lock on a file, where the system reveals it.
package struct LockHolder: Sendable, Hashable {
  package var process: Int32
  /// The program's name.
  package var name: String?
  /// Whether the process is stopped by a signal or a debugger.
  package var isStopped: Bool

  package var words: String {
    "process \(process)" + (name.map { " (\($0))" } ?? "") + (isStopped ? ", which is stopped" : "")
  }

  /// The holders of a lock on the file at `path`, or `nil` if the system does not reveal them.
  package static func all(of path: String) -> [LockHolder]? {
    // Not opened: opening a pipe in the lock's place would block.
    guard let file = FileIdentity(path: path) else { return [] }
    // proc_locks(5): "1: FLOCK  ADVISORY  WRITE 4711 fd:01:1234 0 EOF".
    guard let locks = PosixFile.text("/proc/locks") else { return nil }
    var holders: Set<LockHolder> = []
    for line in locks.split(separator: "\n") {
      let fields = line.split(separator: " ")
      // An arrow marks a waiting process.
      guard fields.count >= 6, fields[1] != "->", let process = Int32(fields[4]), process > 0,
        fields[5].split(separator: ":").last == String(file.number)[...], hasOpen(file, process)
      else { continue }
      holders.insert(LockHolder(process))
    }
    return holders.sorted { $0.process < $1.process }
  }

  /// Checks the open files, since files on two disks may share an inode number. If the system hides them, the number
  /// decides.
  private static func hasOpen(_ file: FileIdentity, _ process: Int32) -> Bool {
    let folder = "/proc/\(process)/fd"
    guard let names = try? PosixFile.folder(folder)?.names() else { return true }
    return names.contains { FileIdentity(path: "\(folder)/\($0)") == file }
  }

  private init(_ process: Int32) {
    self.process = process
    name = PosixFile.text("/proc/\(process)/comm").map { String($0.prefix { $0 != "\n" }) }
    isStopped = LockHolder.isStopped(process)
  }

  /// Whether a process is stopped and will not continue by itself.
  package static func isStopped(_ process: Int32) -> Bool {
    // The state follows the name, which is in parentheses and may contain any character.
    let state = PosixFile.text("/proc/\(process)/stat")?.split(separator: ")").last?.split(separator: " ").first
    return state == "T" || state == "t"
  }
}
