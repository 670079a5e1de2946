#if Programs
import HTTPTypes
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Names of header fields` {
  @Test func `are all valid`() {
    let names: [HTTPField.Name] = [
      .crossOriginOpenerPolicy, .dpop, .dpopNonce, .lastEventID, .pragma, .referrerPolicy, .secFetchSite,
      .xAccelBuffering, .xFrameOptions,
    ]
    #expect(
      names.map(\.rawName) == [
        "Cross-Origin-Opener-Policy", "DPoP", "DPoP-Nonce", "Last-Event-ID", "Pragma", "Referrer-Policy",
        "Sec-Fetch-Site", "X-Accel-Buffering", "X-Frame-Options",
      ])
  }
}
#endif
