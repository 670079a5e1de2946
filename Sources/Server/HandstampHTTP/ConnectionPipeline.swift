#if HTTP
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// Sets up accepted connections: HTTP/1.1, or over TLS what the client chooses.
struct ConnectionPipeline: Sendable {
  let host: ExchangeHost

  func add(to channel: any Channel, of connection: Connection, with tls: SecureContext?) throws {
    guard let tls else { return try addHTTP1(to: channel, of: connection, isSecure: false) }
    try addTLS(to: channel, of: connection, with: tls)
  }

  func addHTTP1(to channel: any Channel, of connection: Connection, isSecure: Bool) throws {
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = host.options.headSize
    limits.maxHeaderListSize = host.options.headSize
    limits.maxHeaderFieldCount = host.options.headFields
    let pipeline = channel.pipeline.syncOperations
    try pipeline.configureHTTPServerPipeline(
      withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: false,
      withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
    try pipeline.addHandler(RequestCheck())
    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: isSecure))
    try pipeline.addHandler(ExchangeHandler(host: host, connection: connection, isStream: false))
  }
}
#endif
