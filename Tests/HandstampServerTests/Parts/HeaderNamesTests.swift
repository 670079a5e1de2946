#if Programs
import HTTPTypes
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Names of header fields` {
  @Test func `are all valid`() {
    let names: [HTTPField.Name] = [.dpop, .dpopNonce, .lastEventID, .pragma, .secFetchSite, .xAccelBuffering]
    #expect(
      names.map(\.rawName) == [
        "DPoP", "DPoP-Nonce", "Last-Event-ID", "Pragma", "Sec-Fetch-Site", "X-Accel-Buffering",
      ])
  }
}
#endif
