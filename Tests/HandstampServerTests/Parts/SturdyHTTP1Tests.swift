#if Programs
import Hummingbird
import HummingbirdCore
import Logging
import NIOEmbedded
import Testing

@testable import HandstampServer

@Suite struct `HTTP of a server that stops` {
  @Test(.timeLimit(.minutes(1))) func `closes a connection that nobody took`() async throws {
    let http = SturdyHTTP1(inner: HTTP1Channel(responder: { _, _, _ in }))
    let channel = NIOAsyncTestingChannel()
    // Accepted, and dropped at once: the loop that takes connections had ended.
    _ = try await channel.testingEventLoop.flatSubmit { http.setup(channel: channel, logger: Logger(label: "test")) }
      .get()
    try await channel.closeFuture.get()
  }
}
#endif
