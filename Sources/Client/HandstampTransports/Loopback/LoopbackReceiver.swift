#if LoopbackRedirect
import Foundation
public import HandstampCore
import HandstampSupport
import NIOCore
import NIOHTTP1
import NIOPosix

/// Receives the redirect of a sign-in on a port of this machine (RFC 8252 section 7.3), for programs to which the
/// system cannot deliver redirects.
///
/// ```swift
/// let receiver = try await LoopbackReceiver.listen { url in print("open \(url)") }
/// let grant = try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
/// await receiver.close()
/// ```
///
/// It listens on the loopback interface only, on any free port unless one is given, and accepts one response: the one
/// with the `state` of the opened page. Other requests, such as a browser fetching an icon or a program guessing, have
/// no effect.
///
/// RFC 8252 requires servers to allow any port, but many compare the whole address instead. For those,
/// ``listen(at:open:)`` takes the registered address.
public final class LoopbackReceiver: RedirectReceiver {
  /// The redirect URI to send to the server, such as `http://127.0.0.1:49152/callback`.
  public let redirectURI: String
  private let opening: @Sendable (String) async -> Void
  private let channels: [any Channel]
  private let desk: Desk

  /// Starts listening on 127.0.0.1.
  ///
  /// - Parameters:
  ///   - path: The path registered with the server, with a leading slash.
  ///   - open: Opens the page, in a browser for example, and always shows its address to the user.
  /// - Throws: ``RedirectError/unavailable(_:)`` if no port is available.
  public static func listen(
    path: String = "/callback", open: @escaping @Sendable (_ page: String) async -> Void
  ) async throws(RedirectError) -> LoopbackReceiver {
    try await listen(at: LoopbackAddress("http://127.0.0.1" + path), open: open)
  }

  /// Starts listening at a redirect address registered with the server.
  ///
  /// - Parameters:
  ///   - address: The registered address. Without a port, any free port is used.
  ///   - open: Opens the page, in a browser for example, and always shows its address to the user.
  /// - Throws: ``RedirectError/unavailable(_:)`` if listening on the port fails; the text states the
  ///   reason.
  public static func listen(
    at address: LoopbackAddress, open: @escaping @Sendable (_ page: String) async -> Void
  ) async throws(RedirectError) -> LoopbackReceiver {
    let desk = Desk(path: address.path)
    let first = try await bind(address.hosts[0], port: address.port ?? 0, desk)
    let port = first.localAddress?.port ?? 0
    var channels = [first]
    for host in address.hosts.dropFirst() {
      do throws(SystemError) { channels.append(try await channel(on: host, port: port, desk)) } catch {
        // A machine without IPv6 has no such address. Otherwise, a program that holds it could receive the response
        // instead.
        guard error.code == EADDRINUSE else { continue }
        for channel in channels { try? await channel.close() }
        throw .unavailable(LoopbackReceiver.words(error, port: port))
      }
    }
    return LoopbackReceiver(channels: channels, desk: desk, redirectURI: address.text(port: port), opening: open)
  }

  private static func bind(_ host: String, port: Int, _ desk: Desk) async throws(RedirectError) -> any Channel {
    do throws(SystemError) { return try await channel(on: host, port: port, desk) } catch {
      throw .unavailable(words(error, port: port))
    }
  }

  private static func channel(on host: String, port: Int, _ desk: Desk) async throws(SystemError) -> any Channel {
    do {
      return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        // Connections of the previous sign-in may be in TIME_WAIT. A port in use is still refused.
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { child in
          child.eventLoop.makeCompletedFuture {
            try child.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
            try child.pipeline.syncOperations.addHandler(CallbackHandler(desk: desk))
          }
        }
        .bind(host: host, port: port).get()
    } catch {
      throw SystemError(attempt: "listening", code: (error as? IOError)?.errnoCode ?? 0)
    }
  }

  private static func words(_ failure: SystemError, port: Int) -> String {
    guard port != 0 else { return "cannot listen on any port of this machine" }
    switch failure.code {
    case EADDRINUSE: return "port \(port) of this machine is in use by another program"
    case EACCES, EPERM: return "port \(port) of this machine is reserved for privileged programs"
    default: return "cannot listen on port \(port) of this machine"
    }
  }

  private init(
    channels: [any Channel], desk: Desk, redirectURI: String, opening: @escaping @Sendable (String) async -> Void
  ) {
    self.channels = channels
    self.desk = desk
    self.opening = opening
    self.redirectURI = redirectURI
  }

  deinit { for channel in channels { channel.close(promise: nil) } }

  @concurrent public func receive(
    from authorizationURL: String, callbackScheme: String
  ) async throws(RedirectError) -> Secret {
    guard let state = Callback(authorizationURL)?["state"], !state.isEmpty else {
      throw .unavailable("the authorization URL has no state parameter")
    }
    let answers = desk.expect(state)
    await opening(authorizationURL)
    for await target in answers {
      let query: Substring = target[(target.firstIndex(of: "?") ?? target.endIndex)...]
      return Secret(redirectURI + query)
    }
    throw .cancelled
  }

  /// Stops listening. A pending `receive` throws `RedirectError.cancelled`.
  public func close() async {
    desk.close()
    for channel in channels { try? await channel.close() }
  }
}

/// Matches incoming requests with the expected response.
final class Desk: Sendable {
  enum Verdict: Sendable {
    case taken, elsewhere, unknown
    /// An error of the server that does not name its request: perhaps a guess, so the wait goes on.
    case error(code: String)
  }

  private struct Content: Sendable {
    var state: String?
    var waiting: AsyncStream<String>.Continuation?
    var isClosed = false
  }
  private let path: String
  private let content = Locked(Content())

  init(path: String) { self.path = path }

  /// Returns the response to the page with this state. Any earlier wait ends.
  func expect(_ state: String) -> AsyncStream<String> {
    let (answers, continuation) = AsyncStream.makeStream(of: String.self)
    let previous: AsyncStream<String>.Continuation? = content.withLock { content in
      guard !content.isClosed else { return continuation }
      defer { (content.state, content.waiting) = (state, continuation) }
      return content.waiting
    }
    previous?.finish()
    return answers
  }

  func close() {
    content.withLock { content in
      content.isClosed = true
      return content.waiting
    }?.finish()
  }

  /// - Parameter target: The target of the request line.
  func take(_ target: String) -> Verdict {
    let place = target.prefix { $0 != "?" }
    guard place == path || place == path + "/" else { return .elsewhere }
    let callback = Callback(target)
    if callback?["state"] == nil, let code = callback?["error"], !code.isEmpty, code.utf8.count <= 60,
      code.utf8.allSatisfy({ $0.isLowercaseLetter || $0 == 95 })
    {
      return .error(code: code)
    }
    let waiting: AsyncStream<String>.Continuation? = content.withLock { content in
      // Compared in constant time, as secrets are: another program on this machine may try to guess it.
      guard let state = content.state, let named = callback?["state"], Secret(named) == Secret(state) else {
        return nil
      }
      content.state = nil
      return content.waiting
    }
    guard let waiting else { return .unknown }
    waiting.yield(target)
    waiting.finish()
    return .taken
  }
}

/// The query of a URL.
struct Callback {
  private let items: [URLQueryItem]

  init?(_ address: String) {
    guard let items = URLComponents(string: address)?.queryItems else { return nil }
    self.items = items
  }

  subscript(name: String) -> String? { items.first { $0.name == name }?.value }
}
#endif
