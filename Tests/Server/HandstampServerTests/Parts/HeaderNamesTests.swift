#if Programs
import HTTPTypes
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Names of header fields` {
  @Test func `are all valid`() {
    let names: [HTTPField.Name] = [
      .crossOriginOpenerPolicy, .dpop, .dpopNonce, .forwarded, .lastEventID, .pragma, .purpose, .rateLimit,
      .rateLimitPolicy,
      .referrerPolicy, .refresh, .secFetchSite, .xAccelBuffering, .xForwardedFor, .xMoz, .xPurpose, .xFrameOptions,
    ]
    #expect(
      names.map(\.rawName) == [
        "Cross-Origin-Opener-Policy", "DPoP", "DPoP-Nonce", "Forwarded", "Last-Event-ID", "Pragma", "Purpose",
        "RateLimit", "RateLimit-Policy", "Referrer-Policy", "Refresh", "Sec-Fetch-Site", "X-Accel-Buffering",
        "X-Forwarded-For", "X-Moz", "X-Purpose", "X-Frame-Options",
      ])
  }
}
#endif
