import Foundation
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) struct `Late requests and foreign responses` {
  @Test func `a request of an ended session is not sent`() async {
    let fence = RequestFence()
    let generation = fence.generation
    fence.cancelAll()
    let response = await fence.run(in: generation) {
      Issue.record("sent all the same")
      return true
    }
    #expect(response == nil)
  }

  @Test(arguments: [
    (200, "", true), (200, "{}", true), (200, "<html>a captive portal</html>", false), (200, #"{"error":"x"}"#, false),
    (400, #"{"error":"invalid_request"}"#, true), (401, #"{"error":"invalid_client"}"#, true),
    (400, "<html>", false), (403, "<html>a captive portal</html>", false), (404, "", false), (407, "", false),
    (408, "", false), (429, "", false), (503, "{}", false), (302, "", false),
  ])
  func `only the server's own response ends a session`(status: Int, body: String, isOver: Bool) async {
    let transport = StubTransport { _ in TransportResponse(status: status, body: Array(body.utf8)) }
    let backend = ServerBackend(
      baseURL: base, device: .init(id: DeviceID("d"), name: "a device"), transport: transport)
    if case .noDecision = await backend.revoke(RevocationHandle("handle")) { #expect(!isOver) } else { #expect(isOver) }
  }
}
