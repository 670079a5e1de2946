import Dispatch
import HandstampCore
import HandstampSupport

/// Watches for the replacement or removal of a file, by any process. Uses kernel events: inotify on Linux, a file
/// system source on Apple platforms. Where those are unavailable, because the folder does not exist yet or there are
/// too many watchers, it polls the file twice a second and retries the kernel watch. Every ten seconds it checks for
/// changes that the kernel does not report: a disk mounted over the folder, or another folder in its place after a
/// parent was renamed.
// Unchecked: all mutable state is accessed on `queue` only.
final class FileWatch: @unchecked Sendable {
  private let folder: String
  private let name: String
  private let continuation: AsyncStream<Void>.Continuation
  private let queue = DispatchQueue(label: "handstamp.vault.changes", qos: .utility)
  private var source: (any DispatchSourceProtocol)?
  /// The folder watched by the source.
  private var place: FileIdentity?
  private var timer: (any DispatchSourceTimer)?
  private var seen: FileStatus?
  private var isOver = false

  /// A stream of changes from now on; several may be combined into one.
  static func changes(of name: String, in folder: String) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let watch = FileWatch(folder: folder, name: name, continuation: continuation)
    continuation.onTermination = { _ in watch.queue.async { watch.end() } }
    // Waits for the watch to be set up, so that every write after this call returns is reported.
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

  /// Starts a kernel watch. The folder may be replaced before it is looked at next; that is noticed later.
  private func watch() {
    place = FileIdentity(path: folder)
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
      if FileIdentity(path: folder) != place { lose() }
      return
    }
    watch()
    // Looked at after the kernel watch was started, so that no change falls between the two.
    let now = look()
    if now != seen { continuation.yield() }
    seen = now
    if source != nil { schedule() }
  }

  private func look() -> FileStatus? {
    guard let folder = try? PosixFile.folder(folder) else { return nil }
    return try? folder.open(name, flags: O_RDONLY)?.status()
  }

  /// Ends the kernel watch because the folder itself is gone.
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
