#if Programs
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import HandstampHTTP
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `HTTP at a stopping server` {
  @Test(.timeLimit(.minutes(10))) func `closes a connection that was accepted but not handled`() async throws {
    let http = SturdyHTTP1(inner: HTTP1Channel(responder: { _, _, _ in }))
    let channel = NIOAsyncTestingChannel()
    try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80))
    #expect(channel.isActive)
    // Accepted, and dropped at once: the accepting loop has ended.
    _ = try await channel.testingEventLoop.flatSubmit { http.setup(channel: channel, logger: Logger(label: "test")) }
      .get()
    try await channel.closeFuture.get()
    #expect(!channel.isActive)
  }
}
#endif
