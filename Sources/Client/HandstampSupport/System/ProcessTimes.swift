/// When processes began, and their names, as the system tells it.
package enum ProcessTimes {
  #if canImport(Darwin)
  /// Returns when a process began, counted from the boot in a unit of the system's; `nil` if there is no such process, and where
  /// processes cannot be seen, as on iOS.
  package static func start(of process: Int32) -> UInt64? {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
    return nil
    #else
    var info = proc_bsdinfo()
    let size = Int32(MemoryLayout<proc_bsdinfo>.size)
    guard proc_pidinfo(process, PROC_PIDTBSDINFO, 0, &info, size) == size, info.pbi_status != UInt32(SZOMB) else {
      return nil
    }
    return UInt64(info.pbi_start_tvsec) &* 1_000_000 &+ UInt64(info.pbi_start_tvusec)
    #endif
  }

  /// The namespace of this process's ID, as of a container; `nil` where processes cannot be seen.
  package static var namespace: UInt64? {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
    return nil
    #else
    return 0
    #endif
  }

  /// Returns the name of a process's program, at most 64 bytes; `nil` if there is no such process, or it cannot be seen.
  package static func name(of process: Int32) -> String? {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
    return nil
    #else
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = Int(proc_name(process, &bytes, UInt32(bytes.count)))
    return count > 0 ? String(utf8Bytes: Array(bytes.prefix(count))) : nil
    #endif
  }
  #else
  package static func name(of process: Int32) -> String? {
    guard let bytes = contents(of: "/proc/\(process)/comm") else { return nil }
    return String(utf8Bytes: Array(bytes.prefix { $0 != 10 }.prefix(64)))
  }

  package static func start(of process: Int32) -> UInt64? {
    guard let bytes = contents(of: "/proc/\(process)/stat"), let end = bytes.lastIndex(of: UInt8(ascii: ")")) else {
      return nil
    }
    // The name may contain anything; it ends with the last parenthesis. The 22nd field is the start (proc(5)).
    let fields = bytes[bytes.index(after: end)...].split(separator: UInt8(ascii: " "))
    // A zombie has ended.
    guard fields.count > 19, fields[0] != [UInt8(ascii: "Z")], fields[0] != [UInt8(ascii: "X")] else { return nil }
    return UInt64(String(decoding: fields[19], as: UTF8.self))
  }

  package static var namespace: UInt64? {
    var status = stat()
    // The link leads to the namespace's own inode.
    return stat("/proc/self/ns/pid", &status) == 0 ? UInt64(status.st_ino) : nil
  }

  static func contents(of path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 2048)
    let count = read(file, &bytes, bytes.count)
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }
  #endif
}
