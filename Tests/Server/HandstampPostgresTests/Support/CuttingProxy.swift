#if PostgreSQL
import Foundation
import HandstampSupport

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A relay between clients and a PostgreSQL server, on a Unix socket, that loses one connection when a client sends certain words.
final class CuttingProxy: Sendable {
  /// The fate of the words.
  enum Cut: Sendable, CaseIterable {
    /// They never arrive at the server.
    case before
    /// The server has answered, and the answer never arrives at the client.
    case after
  }

  let folder: String
  private let server: String
  private let listener: Int32
  private let plan = Locked<(words: String, cut: Cut)?>(nil)
  private let cuts = Locked(0)
  private let isRefusing = Locked(false)
  private let isSilent = Locked(false)

  /// How many connections were lost.
  var count: Int { cuts.withLock { $0 } }

  init(before cluster: PostgresCluster) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("cut-\(UUID().uuidString.prefix(8))").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    server = cluster.folder + "/.s.PGSQL.5432"
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard CuttingProxy.with(folder + "/.s.PGSQL.5432", { bind(self.listener, $0, $1) }) == 0, listen(listener, 64) == 0
    else {
      throw CocoaError(.fileWriteUnknown)
    }
    let thread = Thread { [self] in accept() }
    thread.start()
  }

  /// Loses the next connection on which a client sends these words.
  func cut(_ cut: Cut, _ words: String) { plan.withLock { $0 = (words, cut) } }

  /// Stops: present connections are lost, and no new ones are taken.
  func refuse(_ isRefusing: Bool) { self.isRefusing.withLock { $0 = isRefusing } }

  /// Accepts connections, and never says anything.
  func ignore() { isSilent.withLock { $0 = true } }

  func close() {
    shutdown(listener, Int32(SHUT_RDWR))
    try? FileManager.default.removeItem(atPath: folder)
  }

  private func accept() {
    while case let client = Glibc.accept(listener, nil, nil), client >= 0 {
      if isSilent.withLock({ $0 }) { continue }
      let upstream = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      guard !isRefusing.withLock({ $0 }), CuttingProxy.with(server, { connect(upstream, $0, $1) }) == 0 else {
        Glibc.close(client)
        Glibc.close(upstream)
        continue
      }
      let thread = Thread { [self] in relay(client, upstream) }
      thread.start()
    }
    // Here, because elsewhere its number might be another's before this thread sees the end.
    Glibc.close(listener)
  }

  /// Passes bytes on in both directions until an end closes.
  private func relay(_ client: Int32, _ upstream: Int32) {
    defer {
      Glibc.close(client)
      Glibc.close(upstream)
    }
    var isMute = false
    while true {
      var places = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0), pollfd(fd: upstream, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&places, 2, 100) >= 0, !isRefusing.withLock({ $0 }) else { return }
      if places[0].revents != 0 {
        guard let bytes = CuttingProxy.receive(client) else { return }
        let cut = plan.withLock { plan -> Cut? in
          guard let known = plan, String(decoding: bytes, as: UTF8.self).contains(known.words) else { return nil }
          plan = nil
          return known.cut
        }
        if let cut { cuts.withLock { $0 += 1 }; if cut == .before { return } else { isMute = true } }
        guard CuttingProxy.send(bytes, upstream) else { return }
      }
      if places[1].revents != 0 {
        guard let bytes = CuttingProxy.receive(upstream) else { return }
        // The answer is there: the server has done it.
        if isMute { return }
        guard CuttingProxy.send(bytes, client) else { return }
      }
    }
  }

  private static func receive(_ socket: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(socket, &bytes, bytes.count, 0)
    return count > 0 ? Array(bytes[..<count]) : nil
  }

  private static func send(_ bytes: [UInt8], _ socket: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func with(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
#endif
