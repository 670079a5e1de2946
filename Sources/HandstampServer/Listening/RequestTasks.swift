#if Server
import HandstampSupport
import NIOCore

/// Runs tasks on the event loop of their connection: a request is read, decided and answered there, without a change of threads but
/// for the store's.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, *)
private final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

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
  private let executors: [ObjectIdentifier: any Sendable]

  /// - Parameter prompt: the paths whose requests compute little.
  init(on group: any EventLoopGroup, prompt: Set<Substring>) {
    self.prompt = prompt
    var executors: [ObjectIdentifier: any Sendable] = [:]
    if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, *) {
      for loop in group.makeIterator() { executors[ObjectIdentifier(loop)] = LoopExecutor(loop) }
    }
    self.executors = executors
  }

  /// Starts the work on a request to `path`, which may have a query.
  func start(
    _ path: String?, of channel: any Channel, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, *),
      let path = path?.prefix(while: { $0 != "?" }), prompt.contains(path),
      let executor = executors[ObjectIdentifier(channel.eventLoop)] as? LoopExecutor
    {
      return Task(executorPreference: executor) { await body() }
    }
    return Task { await body() }
  }
}
#endif
