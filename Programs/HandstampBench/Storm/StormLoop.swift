#if Programs && os(Linux)
import Foundation
import HandstampCore
import HandstampSupport

/// One thread that runs tasks, watches sockets and waits: the clients of a storm cost less than the server only without changes of threads.
// All but the queue of jobs is touched by that thread alone.
final class StormLoop: TaskExecutor, @unchecked Sendable {
  private let jobs = Locked([UnownedJob]())
  private let poller = Poller()
  private var ready: [Int32: @Sendable (_ canWrite: Bool) -> Void] = [:]
  private var limits: [(end: Duration, body: () -> Void)] = []

  /// The machine's uptime, which all processes share.
  var now: Duration { Uptime.now }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  /// Calls `body` each time that something can be read from a socket, or, until it is watched again, written to it.
  func watch(_ socket: Int32, writes: Bool, _ body: @escaping @Sendable (_ canWrite: Bool) -> Void) {
    let isNew = ready.updateValue(body, forKey: socket) == nil
    poller.watch(socket, writes: writes, isNew: isNew)
  }

  /// Closes a socket that is watched.
  func close(_ socket: Int32) {
    ready[socket] = nil
    Glibc.close(socket)
  }

  /// Calls `body` after `limit`, which is always the same.
  func endsLater(_ limit: Duration, _ body: @escaping () -> Void) { limits.append((now + limit, body)) }

  private func endWhatIsLate() {
    let late = limits.prefix { $0.end <= now }
    limits.removeFirst(late.count)
    for each in late { each.body() }
  }

  /// Works until `step`, which returns the time until it has to be called again, returns `nil`.
  func run(_ step: () -> Duration?) {
    var next = Duration.zero
    while let wait = step() {
      if now >= next {
        endWhatIsLate()
        next = now + .milliseconds(100)
      }
      let batch = jobs.withLock { jobs in
        defer { jobs.removeAll(keepingCapacity: true) }
        return jobs
      }
      for job in batch { job.runSynchronously(on: asUnownedTaskExecutor()) }
      poller.wait(batch.isEmpty ? wait : .zero) { socket, canWrite in ready[socket]?(canWrite) }
    }
  }
}

enum Uptime {
  /// `CLOCK_MONOTONIC`.
  static var now: Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

/// `epoll(7)`, which Swift's Glibc module leaves out.
private struct Poller {
  private static func function<Function>(_ name: String, as type: Function.Type) -> Function {
    unsafeBitCast(dlsym(nil, name), to: type)
  }

  /// An event is packed on x86-64 alone.
  #if arch(x86_64)
  private static let (size, dataOffset) = (12, 4)
  #else
  private static let (size, dataOffset) = (16, 8)
  #endif
  private static let most = 512
  private let control = function(
    "epoll_ctl", as: (@convention(c) (Int32, Int32, Int32, UnsafeMutableRawPointer) -> Int32).self)
  private let wait = function(
    "epoll_wait", as: (@convention(c) (Int32, UnsafeMutableRawPointer, Int32, Int32) -> Int32).self)
  private let descriptor = function("epoll_create1", as: (@convention(c) (Int32) -> Int32).self)(0)
  private let events = UnsafeMutableRawPointer.allocate(byteCount: Poller.size * Poller.most, alignment: 8)

  func watch(_ socket: Int32, writes: Bool, isNew: Bool) {
    let event = UnsafeMutableRawPointer.allocate(byteCount: Poller.size, alignment: 8)
    defer { event.deallocate() }
    event.storeBytes(of: writes ? 5 : 1, as: UInt32.self)
    event.storeBytes(of: UInt64(socket), toByteOffset: Poller.dataOffset, as: UInt64.self)
    _ = control(descriptor, isNew ? 1 : 3, socket, event)
  }

  func wait(_ time: Duration, _ body: (_ socket: Int32, _ canWrite: Bool) -> Void) {
    let count = wait(descriptor, events, Int32(Poller.most), Int32(max(0, time.inMilliseconds.rounded(.up))))
    for index in 0..<max(0, Int(count)) {
      let flags = events.loadUnaligned(fromByteOffset: index * Poller.size, as: UInt32.self)
      let socket = events.loadUnaligned(fromByteOffset: index * Poller.size + Poller.dataOffset, as: UInt64.self)
      body(Int32(socket), flags & 4 != 0)
    }
  }
}
#endif
