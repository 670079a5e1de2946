import Dispatch
import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Tells when a file in a folder was replaced or removed, by whomever. The kernel tells (inotify on Linux, a file system
/// source on Apple's systems); where it will not, because the folder is not there yet or there are too many watchers, the
/// file is looked at twice a second, and the kernel is asked again. What the kernel does not tell is looked for every ten seconds:
/// a disk that was mounted over the folder, another folder in its place because one above it was renamed.
// Unchecked: everything mutable is touched on `queue` alone.
final class FileWatch: @unchecked Sendable {
  private let folder: String
  private let name: String
  private let continuation: AsyncStream<Void>.Continuation
  private let queue = DispatchQueue(label: "handstamp.vault.changes", qos: .utility)
  private var source: (any DispatchSourceProtocol)?
  /// The folder that the source watches.
  private var place: FileStatus.Place?
  private var timer: (any DispatchSourceTimer)?
  private var seen: FileStatus?
  private var isOver = false

  /// Changes from now on; several are told as one.
  static func changes(of name: String, in folder: String) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let watch = FileWatch(folder: folder, name: name, continuation: continuation)
    continuation.onTermination = { _ in watch.queue.async { watch.end() } }
    // Waits until the watch stands: what is written after this returns is told.
    watch.queue.sync { watch.begin() }
    return stream
  }

  private init(folder: String, name: String, continuation: AsyncStream<Void>.Continuation) {
    self.folder = folder
    self.name = name
    self.continuation = continuation
  }

  private func begin() {
    watch()
    if source == nil { seen = look() }
    schedule()
  }

  /// Asks the kernel. What it watches may already be another folder than the one that is looked at next; that is seen later.
  private func watch() {
    place = FileStatus(at: folder)?.place
    source = makeSource()
    source?.activate()
  }

  private func end() {
    isOver = true
    source?.cancel()
    timer?.cancel()
    (source, timer) = (nil, nil)
  }

  private func schedule() {
    timer?.cancel()
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let period: DispatchTimeInterval = source == nil ? .milliseconds(500) : .seconds(10)
    let leeway: DispatchTimeInterval = source == nil ? .milliseconds(100) : .seconds(5)
    timer.schedule(deadline: .now() + period, repeating: period, leeway: leeway)
    timer.setEventHandler { [weak self] in self?.tick() }
    self.timer = timer
    timer.activate()
  }

  private func tick() {
    if isOver { return }
    if source != nil {
      if FileStatus(at: folder)?.place != place { lose() }
      return
    }
    watch()
    // After the kernel was asked, so that nothing falls between the two.
    let now = look()
    if now != seen { continuation.yield() }
    seen = now
    if source != nil { schedule() }
  }

  private func look() -> FileStatus? {
    guard let folder = try? PosixFile.folder(folder) else { return nil }
    return try? folder.open(name, flags: O_RDONLY)?.status()
  }

  /// The folder itself is gone, and with it the watch.
  private func lose() {
    if isOver { return }
    source?.cancel()
    source = nil
    continuation.yield()
    seen = look()
    schedule()
  }

  #if canImport(Darwin)
  private func makeSource() -> (any DispatchSourceProtocol)? {
    guard let folder = try? PosixFile.folder(folder) else { return nil }
    let source = DispatchSource.makeFileSystemObjectSource(
      fileDescriptor: folder.descriptor, eventMask: [.write, .delete, .rename, .revoke], queue: queue)
    source.setEventHandler { [weak self] in
      guard let self, let source = self.source else { return }
      let events = DispatchSource.FileSystemEvent(rawValue: source.data)
      if events.isDisjoint(with: [.delete, .rename, .revoke]) { continuation.yield() } else { lose() }
    }
    // The descriptor lives as long as the source.
    source.setCancelHandler { _ = folder }
    return source
  }
  #else
  private func makeSource() -> (any DispatchSourceProtocol)? {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    let events = PosixFile(descriptor: descriptor)
    let mask =
      UInt32(IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE) | UInt32(IN_DELETE_SELF | IN_MOVE_SELF)
    guard inotify_add_watch(descriptor, folder, mask | UInt32(IN_ONLYDIR)) >= 0 else { return nil }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in self?.drain(events) }
    // The descriptor lives as long as the source.
    source.setCancelHandler { _ = events }
    return source
  }

  private func drain(_ events: PosixFile) {
    var isMine = false
    var isLost = false
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(events.descriptor, $0.baseAddress, $0.count) }
      if count <= 0 { break }
      buffer.withUnsafeBytes { bytes in
        var start = 0
        // struct inotify_event: watch, mask, cookie, length of the name (4 bytes each), the name, padded with zeroes.
        while start + 16 <= count {
          let mask = bytes.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self)
          let length = Int(bytes.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self))
          let name = bytes[min(start + 16, count)..<min(start + 16 + length, count)].prefix { $0 != 0 }
          if mask & UInt32(IN_Q_OVERFLOW) != 0 || name.elementsEqual(self.name.utf8) { isMine = true }
          if mask & UInt32(IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF) != 0 { isLost = true }
          start += 16 + length
        }
      }
    }
    if isLost { lose() } else if isMine { continuation.yield() }
  }
  #endif
}
