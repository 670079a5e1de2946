#if SecretService
  import CSecret
  import Dispatch
  import HandstampCore
  import Synchronization

  /// Runs a blocking call on a thread of its own and waits for it until `limit` is over. Then the call is cancelled, and if it
  /// goes on nevertheless, nobody waits for it.
  func withDeadline<Answer: Sendable>(
    _ limit: Duration,
    _ body: @escaping @Sendable (UnsafeMutablePointer<GCancellable>?) throws(VaultTrouble) -> Answer
  ) async throws(VaultTrouble) -> Answer {
    let call = Call<Answer>()
    let result = await withCheckedContinuation { continuation in
      call.begin(continuation)
      // One queue per call: a call that never ends must not hold up the next.
      DispatchQueue(label: "handstamp.secret-service", qos: .userInitiated).async {
        do throws(VaultTrouble) { call.end(.success(try body(call.cancellable))) } catch { call.end(.failure(error)) }
      }
      let (seconds, attoseconds) = max(limit, .zero).components
      let nanoseconds = min(seconds, 86_400) * 1_000_000_000 + attoseconds / 1_000_000_000
      DispatchQueue.global(qos: .userInitiated).asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) {
        [weak call] in call?.giveUp()
      }
    }
    return try result.get()
  }

  /// One call, and who waits for it.
  // Unchecked: a GCancellable may be used by any thread, and everything else is under the lock.
  private final class Call<Answer: Sendable>: @unchecked Sendable {
    typealias Waiter = CheckedContinuation<Result<Answer, VaultTrouble>, Never>

    let cancellable: UnsafeMutablePointer<GCancellable>? = g_cancellable_new()
    private let waiter = Mutex<Waiter?>(nil)

    deinit { if let cancellable { g_object_unref(cancellable) } }

    func begin(_ continuation: Waiter) { waiter.withLock { $0 = continuation } }

    func end(_ result: Result<Answer, VaultTrouble>) {
      waiter.withLock { waiter in
        defer { waiter = nil }
        return waiter
      }?.resume(returning: result)
    }

    func giveUp() {
      if let cancellable { g_cancellable_cancel(cancellable) }
      end(.failure(.unavailable("the secret store did not answer in time")))
    }
  }
#endif
