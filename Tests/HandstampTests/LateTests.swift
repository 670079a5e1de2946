import Foundation
import HandstampCore
import HandstampTesting
import Testing

@testable import Handstamp

@Suite struct `What comes too late or from the wrong place` {
  @Test func `sends nothing for a session that is over, whoever is signed in by then`() async {
    let fence = RequestFence()
    let generation = fence.generation
    fence.cancelAll()
    await #expect(throws: RequestFence.RequestFailure.self) {
      try await fence.run(in: generation) { () async throws(TransportError) in
        Issue.record("sent all the same")
      }
    }
  }

  @Test(arguments: [
    (200, "", true), (200, "{}", true), (200, "<html>a captive portal</html>", false), (200, #"{"error":"x"}"#, false),
    (400, #"{"error":"invalid_request"}"#, true), (401, #"{"error":"invalid_client"}"#, true),
    (400, "<html>", false), (403, "<html>a captive portal</html>", false), (404, "", false), (407, "", false),
    (408, "", false), (429, "", false), (503, "{}", false), (302, "", false),
  ])
  func `takes only the server's own word for the end of a session`(status: Int, body: String, isOver: Bool) async {
    let transport = StubTransport { _ in TransportResponse(status: status, body: Array(body.utf8)) }
    let backend = ServerBackend(
      baseURL: base, device: .init(id: DeviceID("d"), name: "a device"), transport: transport)
    do throws(SessionError) {
      try await backend.revoke(RevocationHandle("handle"))
      #expect(isOver)
    } catch {
      if case .refused = error { #expect(isOver) } else { #expect(!isOver) }
    }
  }
}
