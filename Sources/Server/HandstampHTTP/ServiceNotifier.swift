#if HTTP
import Dispatch
import HandstampSupport

/// Tells the service manager about the state of this process (sd_notify(3)), for units of `Type=notify`. Without
/// `NOTIFY_SOCKET` it says nothing.
public struct ServiceNotifier: Sendable {
  private let address: String?

  /// - Parameter environment: `NOTIFY_SOCKET` is the path of a datagram socket; one that begins with `@` is abstract.
  public init(environment: [String: String]) {
    let address = environment["NOTIFY_SOCKET"] ?? ""
    self.address = address.hasPrefix("/") || address.hasPrefix("@") ? address : nil
  }

  /// Tells no one, whatever the environment is.
  public static let silent = ServiceNotifier(environment: [:])

  public func ready() { send("READY=1") }
  public func stopping() { send("STOPPING=1") }

  /// The configuration is being read again; ``ready()`` ends that.
  public func reloading() {
    // CLOCK_MONOTONIC, on Linux.
    send("RELOADING=1\nMONOTONIC_USEC=\(DispatchTime.now().uptimeNanoseconds / 1000)")
  }

  private func send(_ message: String) {
    guard let address else { return }
    var target = sockaddr_un()
    target.sun_family = sa_family_t(AF_UNIX)
    var path = Array(address.utf8)
    guard path.count < MemoryLayout.size(ofValue: target.sun_path) else { return }
    if address.hasPrefix("@") { path[0] = 0 }
    withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: path) }
    #if canImport(Glibc)
    let kind = Int32(SOCK_DGRAM.rawValue)
    #else
    let kind = SOCK_DGRAM
    #endif
    let descriptor = socket(AF_UNIX, kind, 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // The address ends with the name: an abstract one may contain zeros.
    let size = MemoryLayout.size(ofValue: target) - MemoryLayout.size(ofValue: target.sun_path) + path.count
    let bytes = Array(message.utf8)
    _ = withUnsafePointer(to: &target) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, bytes, bytes.count, 0, $0, socklen_t(size))
      }
    }
  }
}
#endif
