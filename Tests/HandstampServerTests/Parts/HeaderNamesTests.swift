#if Programs
import HTTPTypes
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Names of header fields` {
  @Test func `are all valid`() {
    let names: [HTTPField.Name] = [
      .crossOriginOpenerPolicy, .dpop, .dpopNonce, .forwarded, .lastEventID, .pragma, .rateLimit, .rateLimitPolicy,
      .referrerPolicy, .secFetchSite, .xAccelBuffering, .xForwardedFor, .xFrameOptions,
    ]
    #expect(
      names.map(\.rawName) == [
        "Cross-Origin-Opener-Policy", "DPoP", "DPoP-Nonce", "Forwarded", "Last-Event-ID", "Pragma", "RateLimit",
        "RateLimit-Policy", "Referrer-Policy", "Sec-Fetch-Site", "X-Accel-Buffering", "X-Forwarded-For",
        "X-Frame-Options",
      ])
  }
}
#endif
