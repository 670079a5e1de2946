#if Server
import HTTPTypes

/// Header fields that HTTPTypes does not name. The literals are valid field names; a test makes each.
extension HTTPField.Name {
  static let clearSiteData = Self("Clear-Site-Data")!
  static let crossOriginOpenerPolicy = Self("Cross-Origin-Opener-Policy")!
  static let csrfToken = Self("X-CSRF-Token")!
  static let dpop = Self("DPoP")!
  static let dpopNonce = Self("DPoP-Nonce")!
  static let forwarded = Self("Forwarded")!
  static let lastEventID = Self("Last-Event-ID")!
  static let pragma = Self("Pragma")!
  static let purpose = Self("Purpose")!
  static let rateLimit = Self("RateLimit")!
  static let rateLimitPolicy = Self("RateLimit-Policy")!
  static let referrerPolicy = Self("Referrer-Policy")!
  static let refresh = Self("Refresh")!
  static let secFetchSite = Self("Sec-Fetch-Site")!
  static let traceparent = Self("traceparent")!
  static let xAccelBuffering = Self("X-Accel-Buffering")!
  static let xForwardedFor = Self("X-Forwarded-For")!
  static let xMoz = Self("X-Moz")!
  static let xPurpose = Self("X-Purpose")!
  static let xFrameOptions = Self("X-Frame-Options")!
  static let xRequestID = Self("X-Request-ID")!
}
#endif
