#if Programs
import Foundation

/// Who holds a lock on a file, as far as the system tells.
struct LockHolder: Sendable, Hashable {
  var process: Int32
  /// The program's name.
  var name: String?
  /// Stopped by a signal or a debugger.
  var isStopped: Bool

  var words: String { "process \(process)" + (name.map { " (\($0))" } ?? "") + (isStopped ? ", which is stopped" : "") }

  /// Those who hold a lock on the file at `path`; nothing where the system does not say.
  static func all(of path: String) -> [LockHolder]? {
    guard let inode = FileFacts(path)?.inode else { return [] }
    // proc_locks(5): "1: FLOCK  ADVISORY  WRITE 4711 fd:01:1234 0 EOF". The kernel writes it as it is read.
    guard let file = FileHandle(forReadingAtPath: "/proc/locks"), let data = try? file.readToEnd() else { return nil }
    var holders: Set<LockHolder> = []
    for line in String(decoding: data, as: UTF8.self).split(separator: "\n") {
      let fields = line.split(separator: " ")
      // A line with an arrow is somebody who waits.
      guard fields.count >= 6, fields[1] != "->", let process = Int32(fields[4]), process > 0,
        fields[5].split(separator: ":").last == String(inode)[...], hasOpen(path, process)
      else { continue }
      holders.insert(LockHolder(process))
    }
    return holders.sorted { $0.process < $1.process }
  }

  /// Files on two disks may have one number. Where the system does not show what a process has open, the number decides.
  private static func hasOpen(_ path: String, _ process: Int32) -> Bool {
    let folder = "/proc/\(process)/fd"
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return true }
    let targets = names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
    let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    return targets.isEmpty || targets.contains(real) || targets.contains(path)
  }

  private init(_ process: Int32) {
    self.process = process
    name = LockHolder.text("/proc/\(process)/comm").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
    isStopped = LockHolder.isStopped(process)
  }

  /// Whether a process does not go on by itself.
  static func isStopped(_ process: Int32) -> Bool {
    // The state stands behind the name, which is in parentheses and may hold anything.
    let state = text("/proc/\(process)/stat")?.split(separator: ")").last?.split(separator: " ").first
    return state == "T" || state == "t"
  }

  private static func text(_ path: String) -> String? {
    guard let file = FileHandle(forReadingAtPath: path), let data = try? file.readToEnd() else { return nil }
    return String(decoding: data, as: UTF8.self)
  }
}
#endif
