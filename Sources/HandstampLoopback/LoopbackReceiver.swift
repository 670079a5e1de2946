#if LoopbackRedirect
import Foundation
public import HandstampCore
import NIOCore
import NIOHTTP1
import NIOPosix

/// Catches the redirect of a sign-in on a port of this very machine (RFC 8252 section 7.3), for programs that no system brings
/// redirects to.
///
/// ```swift
/// let receiver = try await LoopbackReceiver.listen { url in print("open \(url)") }
/// let grant = try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
/// await receiver.close()
/// ```
///
/// It listens on this machine alone, on any free port unless one is named, and takes one answer: the one that names the `state`
/// of the page that was opened. Whatever else knocks, a browser that wants an icon or a program that guesses, changes nothing.
///
/// RFC 8252 asks servers to allow any port there, and many compare the whole address instead: for those,
/// ``listen(at:open:)`` takes the address that is registered.
public final class LoopbackReceiver: RedirectReceiver {
  /// What the page is asked to come back to, such as `http://127.0.0.1:49152/callback`.
  public let redirectURI: String
  private let opening: @Sendable (String) async -> Void
  private let channels: [any Channel]
  private let desk: Desk

  /// Begins to listen on 127.0.0.1.
  ///
  /// - Parameters:
  ///   - path: as it is registered at the server, with a slash at its beginning.
  ///   - open: shows the page, such as by starting a browser, and its address to the person in any case.
  /// - Throws: ``HandstampCore/RedirectError/unavailable(_:)`` when no port can be listened on.
  public static func listen(
    path: String = "/callback", open: @escaping @Sendable (_ page: String) async -> Void
  ) async throws(RedirectError) -> LoopbackReceiver {
    try await listen(at: LoopbackAddress("http://127.0.0.1" + path), open: open)
  }

  /// Begins to listen at a redirect address as it is registered at the server.
  ///
  /// - Parameters:
  ///   - address: its port is taken as it is; without one, any free port.
  ///   - open: shows the page, such as by starting a browser, and its address to the person in any case.
  /// - Throws: ``HandstampCore/RedirectError/unavailable(_:)`` when the port cannot be listened on; the text says why.
  public static func listen(
    at address: LoopbackAddress, open: @escaping @Sendable (_ page: String) async -> Void
  ) async throws(RedirectError) -> LoopbackReceiver {
    let desk = Desk(path: address.path)
    let first = try await bind(address.hosts[0], port: address.port ?? 0, desk)
    let port = first.localAddress?.port ?? 0
    var channels = [first]
    for host in address.hosts.dropFirst() {
      do throws(BindFailure) { channels.append(try await channel(on: host, port: port, desk)) } catch {
        // A machine without IPv6 has no such address; on another one, a different program must not get the answer.
        guard error.code == EADDRINUSE else { continue }
        for channel in channels { try? await channel.close() }
        throw .unavailable(LoopbackReceiver.words(error, port: port))
      }
    }
    return LoopbackReceiver(channels: channels, desk: desk, redirectURI: address.text(port: port), opening: open)
  }

  private struct BindFailure: Error { var code: CInt }

  private static func bind(_ host: String, port: Int, _ desk: Desk) async throws(RedirectError) -> any Channel {
    do throws(BindFailure) { return try await channel(on: host, port: port, desk) } catch {
      throw .unavailable(words(error, port: port))
    }
  }

  private static func channel(on host: String, port: Int, _ desk: Desk) async throws(BindFailure) -> any Channel {
    do {
      return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        // The former sign-in's connections may still be in TIME_WAIT. A port that is listened on is refused nevertheless.
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { child in
          child.eventLoop.makeCompletedFuture {
            try child.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
            try child.pipeline.syncOperations.addHandler(CallbackHandler(desk: desk))
          }
        }
        .bind(host: host, port: port).get()
    } catch {
      throw BindFailure(code: (error as? IOError)?.errnoCode ?? 0)
    }
  }

  private static func words(_ failure: BindFailure, port: Int) -> String {
    guard port != 0 else { return "no port of this machine can be listened on" }
    switch failure.code {
    case EADDRINUSE: return "port \(port) of this machine is in use by another program"
    case EACCES, EPERM: return "port \(port) of this machine is not for programs of ordinary users"
    default: return "port \(port) of this machine cannot be listened on"
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
      throw .unavailable("the page has no state to tell its answer by")
    }
    let answers = desk.expect(state)
    await opening(authorizationURL)
    for await target in answers {
      let query: Substring = target[(target.firstIndex(of: "?") ?? target.endIndex)...]
      return Secret(redirectURI + query)
    }
    throw .cancelled
  }

  /// Stops to listen. Whoever still waits hears that nothing came.
  public func close() async {
    desk.close()
    for channel in channels { try? await channel.close() }
  }
}

/// What knocks, against what is waited for.
final class Desk: Sendable {
  enum Verdict: Sendable { case taken, elsewhere, unknown }

  private struct Content: Sendable {
    var state: String?
    var waiting: AsyncStream<String>.Continuation?
    var isClosed = false
  }
  private let path: String
  private let content = Locked(Content())

  init(path: String) { self.path = path }

  /// The answer to the page with that state; a former one is waited for no longer.
  func expect(_ state: String) -> AsyncStream<String> {
    let (answers, continuation) = AsyncStream.makeStream(of: String.self)
    let former: AsyncStream<String>.Continuation? = content.withLock { content in
      guard !content.isClosed else { return continuation }
      defer { (content.state, content.waiting) = (state, continuation) }
      return content.waiting
    }
    former?.finish()
    return answers
  }

  func close() {
    content.withLock { content in
      content.isClosed = true
      return content.waiting
    }?.finish()
  }

  /// - Parameter target: as it stands in the request's line.
  func take(_ target: String) -> Verdict {
    guard target.prefix(while: { $0 != "?" }) == path else { return .elsewhere }
    let waiting: AsyncStream<String>.Continuation? = content.withLock { content in
      // Compared as secrets are: another program of this machine may try to guess it.
      guard let state = content.state, let named = Callback(target)?["state"], Secret(named) == Secret(state) else {
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

/// The query of an address.
struct Callback {
  private let items: [URLQueryItem]

  init?(_ address: String) {
    guard let items = URLComponents(string: address)?.queryItems else { return nil }
    self.items = items
  }

  subscript(name: String) -> String? { items.first { $0.name == name }?.value }
}
#endif
