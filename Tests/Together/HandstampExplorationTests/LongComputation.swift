import Dispatch
import Testing

/// Runs the tests of a suite one after the other, on a thread of their own: a computation of minutes on the threads of the
/// concurrency runtime, of which there are as many as cores, would let the time limits of other suites' tests pass.
struct LongComputation: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  @concurrent func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(OwnThread.shared, operation: function)
  }

  private final class OwnThread: TaskExecutor {
    static let shared = OwnThread()
    private let queue = DispatchQueue(label: "long computations")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }
}

extension Trait where Self == LongComputation {
  static var longComputation: Self { Self() }
}
