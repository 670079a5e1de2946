#if Command
import HandstampSupport
import NIOCore

/// The user at the other end of a Unix domain socket, as the kernel knows it.
enum PeerUser {
  /// Returns the user ID that the peer had when it connected (`SO_PEERCRED` of unix(7), `LOCAL_PEERCRED` on Apple's systems); `nil` if
  /// the system does not tell. A forwarded socket has the forwarding program for its peer.
  static func id(of channel: any Channel) async -> UInt32? {
    guard let provider = channel as? any SocketOptionProvider else { return nil }
    #if canImport(Darwin)
    let facts: xucred? = try? await provider.unsafeGetSocketOption(
      level: .init(rawValue: SOL_LOCAL), name: .init(rawValue: LOCAL_PEERCRED)
    ).get()
    return facts?.cr_uid
    #else
    let facts: Credentials? = try? await provider.unsafeGetSocketOption(
      level: .socket, name: .init(rawValue: SO_PEERCRED)
    ).get()
    return facts?.user
    #endif
  }

  #if !canImport(Darwin)
  /// The layout of `struct ucred`, which is imported with GNU extensions only.
  private struct Credentials: Sendable {
    var process: Int32
    var user: UInt32
    var group: UInt32
  }
  #endif
}
#endif
