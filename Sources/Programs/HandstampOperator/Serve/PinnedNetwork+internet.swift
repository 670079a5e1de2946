#if Operator
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampServer
import HandstampSupport

#if AsyncHTTPClient
import HandstampTransports
#endif

extension PinnedNetwork {
  /// Resolves hosts as the system does, and connects to the address that was checked: a second look at the name could find another.
  /// `nil` in a build without ``BuildPart/webhooks``.
  ///
  /// - Parameter certificateAuthorities: a file in PEM with the authorities to trust; `nil` trusts the system's.
  static func internet(certificateAuthorities: String?) -> PinnedNetwork? {
    #if AsyncHTTPClient
    guard BuildPart.webhooks.isHere else { return nil }
    return PinnedNetwork(
      resolve: { await resolve($0) },
      connect: { host, address in
        AsyncHTTPTransport(
          pinning: host, to: "\(address)", connectTimeout: .seconds(5), certificateAuthorities: certificateAuthorities)
      },
      close: { await ($0 as? AsyncHTTPTransport)?.shutdown() })
    #else
    return nil
    #endif
  }

  /// Returns the addresses of a host, as the system finds them.
  private static func resolve(_ host: String) async -> [IPAddress] {
    await withCheckedContinuation { continuation in
      // It blocks its thread, for as long as the system's resolver waits.
      DispatchQueue.global().async { continuation.resume(returning: addresses(of: host)) }
    }
  }

  private static func addresses(of host: String) -> [IPAddress] {
    var hints = addrinfo()
    #if canImport(Glibc) || canImport(Musl)
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
    hints.ai_socktype = SOCK_STREAM
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var found: [IPAddress] = []
    var next = list
    while let entry = next {
      var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      let status = getnameinfo(
        entry.pointee.ai_addr, entry.pointee.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST)
      let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      // An address that cannot be read cannot be checked, so the host counts as unknown.
      guard status == 0, let address = IPAddress(text) else { return [] }
      if !found.contains(address) { found.append(address) }
      next = entry.pointee.ai_next
    }
    return found
  }
}
#endif
