#if os(Linux)
import CHandstampLibraries
import Foundation
import HandstampCore
import HandstampSupport

/// The thread that performs all requests over libcurl. It sleeps until a socket, a deadline or an order wakes it.
final class CurlLoop: Sendable {
  /// `nil` without libcurl 7.68 or later.
  static let shared = CurlLoop()

  enum Order: Sendable {
    case begin(CurlExchange)
    /// Continues one that was paused because its reader is slow.
    case resume(CurlExchange)
    /// The caller is gone.
    case end(CurlExchange)
  }

  // libcurl allows other threads to wake it.
  private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
  private let orders = Locked<[Order]>([])

  private init?() {
    guard let multi = handstamp_curl_multi() else { return nil }
    self.multi = multi
    Thread.detachNewThread { [self] in
      // A server that closes the connection must not end the process, whatever library for TLS libcurl writes with.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      var transfers = Transfers(multi: self.multi)
      while true {
        for order in orders.withLock({ exchange(&$0, with: []) }) { transfers.obey(order) }
        transfers.wait(for: transfers.settle())
      }
    }
  }

  func order(_ order: Order) {
    orders.withLock { $0.append(order) }
    handstamp_curl_wake(multi)
  }
}

/// The exchanges of the thread.
private struct Transfers {
  let multi: UnsafeMutableRawPointer
  private var running: [UnsafeMutableRawPointer: CurlExchange] = [:]
  private var waiting: [CurlExchange] = []
  private var counts: [CurlExchange.Lane: Int] = [:]

  /// How many connections to one server there may be beside those of streams, as in AsyncHTTPClient.
  private static let connectionsPerLane = 8

  init(multi: UnsafeMutableRawPointer) { self.multi = multi }

  mutating func obey(_ order: CurlLoop.Order) {
    switch order {
    case .begin(let transfer): waiting.append(transfer)
    case .resume(let transfer):
      if let easy = transfer.easy, running[easy] === transfer { handstamp_curl_resume(easy) }
    case .end(let transfer):
      if let easy = transfer.easy, running[easy] === transfer { end(easy, .cancelled) }
      waiting.removeAll { $0 === transfer }
    }
  }

  /// Ends what is over, begins what may begin, and returns how long there is nothing to do.
  mutating func settle() -> Duration {
    var code: Int32 = 0
    while let easy = handstamp_curl_ended(multi, &code) { end(easy, running[easy]?.failure(code)) }
    let now = ContinuousClock.now
    for (easy, transfer) in running where transfer.isLate(at: now) { end(easy, .timedOut) }
    var later: [CurlExchange] = []
    for transfer in exchange(&waiting, with: []) {
      if transfer.isLate(at: now) {
        transfer.finish(.timedOut)
      } else if let lane = transfer.lane, counts[lane, default: 0] >= Transfers.connectionsPerLane {
        later.append(transfer)
      } else {
        begin(transfer)
      }
    }
    waiting = later
    let next = (running.values.compactMap(\.deadline) + later.compactMap(\.deadline)).min()
    return next.map { $0 - now } ?? .seconds(3600)
  }

  /// Sleeps, and lets libcurl do its work.
  func wait(for time: Duration) {
    // Rounded up, so that it is over afterwards.
    handstamp_curl_wait(multi, Int32(clamping: max(time, .zero).wholeMilliseconds + 1))
  }

  private mutating func begin(_ transfer: CurlExchange) {
    guard let easy = transfer.prepare() else { return transfer.finish(.connectionLost("libcurl refuses an option")) }
    running[easy] = transfer
    if let lane = transfer.lane { counts[lane, default: 0] += 1 }
    if handstamp_curl_add(multi, easy) != 0 { end(easy, .connectionLost("libcurl refuses the request")) }
  }

  private mutating func end(_ easy: UnsafeMutableRawPointer, _ failure: TransportError?) {
    handstamp_curl_remove(multi, easy)
    guard let transfer = running.removeValue(forKey: easy) else { return }
    if let lane = transfer.lane, let count = counts[lane] { counts[lane] = count > 1 ? count - 1 : nil }
    transfer.finish(failure)
  }
}
#endif
