import CHandstampLibraries
import Dispatch
import HandstampCore
import HandstampSupport

/// Runs a blocking call on a thread of its own and waits for at most `limit`. The call is then cancelled, and abandoned
/// if it continues nevertheless.
func withDeadline<Answer: Sendable>(
  _ limit: Duration, _ library: SecretLibrary,
  _ body: @escaping @Sendable (OpaquePointer?) throws(VaultError) -> Answer
) async throws(VaultError) -> Answer {
  let call = Call<Answer>(library)
  let result = await withCheckedContinuation { continuation in
    call.begin(continuation)
    // One queue per call: a call that never ends must not hold up the next.
    DispatchQueue(label: "handstamp.secret-service", qos: .userInitiated).async {
      do throws(VaultError) { call.end(.success(try body(call.cancellable))) } catch { call.end(.failure(error)) }
    }
    let nanoseconds = min(max(limit, .zero), .seconds(86_400)).wholeNanoseconds
    DispatchQueue.global(qos: .userInitiated).asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) {
      [weak call] in call?.giveUp()
    }
  }
  return try result.get()
}

/// A call and its waiter.
// Unchecked: a GCancellable may be used by any thread, and everything else is under the lock.
private final class Call<Answer: Sendable>: @unchecked Sendable {
  typealias Waiter = CheckedContinuation<Result<Answer, VaultError>, Never>

  let cancellable: OpaquePointer?
  private let library: SecretLibrary
  private let waiter = Locked<Waiter?>(nil)

  init(_ library: SecretLibrary) {
    self.library = library
    cancellable = library.functions.pointee.g_cancellable_new()
  }

  deinit { if let cancellable { library.functions.pointee.g_object_unref(UnsafeMutableRawPointer(cancellable)) } }

  func begin(_ continuation: Waiter) { waiter.withLock { $0 = continuation } }

  func end(_ result: Result<Answer, VaultError>) { waiter.withLock { $0.take() }?.resume(returning: result) }

  func giveUp() {
    if let cancellable { library.functions.pointee.g_cancellable_cancel(cancellable) }
    end(.failure(.unavailable("the secret store did not answer in time")))
  }
}
