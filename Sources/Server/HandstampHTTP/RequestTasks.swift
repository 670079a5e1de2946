#if HTTP
import HandstampSupport
import NIOCore

/// Runs tasks on the event loop of their connection: a request is read, decided and answered there, without a change of threads but
/// for the store's.
private final class LoopExecutor: Sendable {
  fileprivate let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension LoopExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// Where the requests of a listener are worked on.
///
/// Those that compute little run on the event loop of their connection. All others run on the threads that Swift's tasks share,
/// because on an event loop they would hold up the other connections there: pages, exports, passwords.
final class RequestTasks: Sendable {
  private let prompt: Set<Substring>
  /// The executors by their loops.
  private let executors: [ObjectIdentifier: LoopExecutor]

  /// - Parameter prompt: the paths whose requests compute little.
  init(on group: any EventLoopGroup, prompt: Set<Substring>) {
    self.prompt = prompt
    var executors: [ObjectIdentifier: LoopExecutor] = [:]
    for loop in group.makeIterator() { executors[ObjectIdentifier(loop)] = LoopExecutor(loop) }
    self.executors = executors
  }

  /// Returns the executor of a request to `path`, which may have a query; `nil` for the shared threads.
  @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
  func executor(for path: String?, on loop: any EventLoop) -> (any TaskExecutor)? {
    guard let path = path?.prefix(while: { $0 != "?" }), prompt.contains(path) else { return nil }
    return executors[ObjectIdentifier(loop)]
  }
}
#endif
