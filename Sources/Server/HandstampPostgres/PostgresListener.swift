#if PostgreSQL
import Dispatch
import Foundation
public import HandstampRegistry
import HandstampSupport

/// Hears of events of other nodes by `LISTEN`, on a connection and a queue of its own.
final class PostgresListener: Sendable {
  /// How long a connection may be silent before it is tried.
  private static let silence = Duration.seconds(5)
  /// How long to wait before another connection is made.
  private static let pause = Duration.milliseconds(250)

  private let address: PostgresAddress
  private let state = Locked(State())

  private struct State {
    var isStopped = false
    var isHearing = false
  }

  init(_ address: PostgresAddress) { self.address = address }

  /// How long a server may rely on being told. Without a connection, or behind a pooler that forwards no notifications, it looks
  /// by itself.
  var patience: Duration { state.withLock { $0.isHearing } ? .seconds(5) : .milliseconds(200) }

  func stop() { state.withLock { $0.isStopped = true } }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Returns a sequence that yields at each notification, and when hearing begins.
  func arrivals() -> AsyncStream<Void> {
    let (arrivals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    continuation.onTermination = { [self] _ in stop() }
    DispatchQueue(label: "handstamp postgres listener").async { [self] in
      while !isStopped {
        let isPooled = listen(continuation)
        state.withLock { $0.isHearing = false }
        // Its other connections will be pooled, too.
        if isPooled { break }
        pause()
      }
      continuation.finish()
    }
    return arrivals
  }

  private func pause() {
    let end = ContinuousClock.now + PostgresListener.pause
    while !isStopped, ContinuousClock.now < end { usleep(20_000) }
  }

  /// Listens until the connection is lost. Returns whether there is a pooler, through which one cannot listen.
  private func listen(_ continuation: AsyncStream<Void>.Continuation) -> Bool {
    do throws(PostgresError) {
      let connection = try PostgresConnection(address, until: .now + .seconds(10))
      if connection.isPooled { return true }
      let deadline = { ContinuousClock.now + .seconds(5) }
      _ = try connection.run(
        PostgresStatement("LISTEN \(PostgresSchema.channel)", isFrequent: false), until: deadline())
      state.withLock { $0.isHearing = true }
      // For what was stored before.
      continuation.yield()
      var lastSign = ContinuousClock.now
      while !isStopped {
        if try connection.waitForNotification(until: .now + .seconds(1)) {
          continuation.yield()
          lastSign = .now
        } else if ContinuousClock.now - lastSign > PostgresListener.silence {
          _ = try connection.run(PostgresStatement("SELECT 1::bigint", isFrequent: false), until: deadline())
          lastSign = .now
        }
      }
    } catch {
      // Requests report what is wrong with the database.
    }
    return false
  }
}

extension PostgresRegistryStore {
  public func news() -> StoreNews? {
    let listener = PostgresListener(address)
    return StoreNews(arrivals: listener.arrivals(), patience: { listener.patience })
  }
}
#endif
