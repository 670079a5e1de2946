#if HTTP
import HandstampSupport
import NIOCore
import NIOHTTP1

/// Implements requirements of HTTP/1 that the framework leaves to the application: checks the `Host` field (RFC 9112 section
/// 3.2), and closes the connection after the response unless the client keeps it alive (section 9.3).
final class RequestCheck: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// The requests without a response yet, the oldest first.
  private var open: [(version: HTTPVersion, isKept: Bool)] = []

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    // The framework answers a parser's error with 400, after the responses to earlier requests, and closes the connection.
    guard Host.isGood(head) else { return context.fireErrorCaught(HTTPParserError.invalidHeaderToken) }
    let isKept = RequestCheck.isKept(head)
    open.append((head.version, isKept))
    // In the only spelling that the framework recognizes.
    if !isKept { head.headers.replaceOrAdd(name: "connection", value: "close") }
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  /// Returns whether the connection may serve another request. After an `Upgrade` the parser waits for another protocol,
  /// which is not supported; the end of a chunked body from an HTTP/1.0 client is not reliable (RFC 9112 section 6.1).
  private static func isKept(_ head: HTTPRequestHead) -> Bool {
    guard head.isKeepAlive, !head.headers.contains(name: "upgrade") else { return false }
    return head.version != .http1_0 || !head.headers.contains(name: "transfer-encoding")
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .head(var head) = unwrapOutboundIn(data), head.status.code >= 200, let request = open.first else {
      return context.write(data, promise: promise)
    }
    open.removeFirst()
    if request.version == .http1_0 {
      // HTTP/1.0 has no chunked encoding: a body without a length ends with the connection.
      head.version = request.version
      if request.isKept, head.headers["connection"].isEmpty {
        head.headers.add(name: "connection", value: "keep-alive")
      }
    }
    if !request.isKept { head.headers.replaceOrAdd(name: "connection", value: "close") }
    context.write(wrapOutboundOut(.head(head)), promise: promise)
  }
}

/// The `Host` field of a request.
enum Host {
  /// Returns whether there is exactly one valid `Host` field, or none in HTTP/1.0 (RFC 9112 section 3.2).
  static func isGood(_ head: HTTPRequestHead) -> Bool {
    let fields = head.headers["host"]
    guard let field = fields.first else { return head.version == .http1_0 }
    return fields.count == 1 && isGood(field)
  }

  /// Returns whether a text is `uri-host [ ":" port ]` (RFC 3986 section 3.2). It may be empty, for an address without a host.
  static func isGood(_ field: String) -> Bool {
    let bytes = Array(field.utf8)
    let rest: ArraySlice<UInt8>
    if bytes.first == UInt8(ascii: "[") {
      guard let end = bytes.firstIndex(of: UInt8(ascii: "]")), end > 1, bytes[1..<end].allSatisfy(isLiteral) else {
        return false
      }
      rest = bytes[(end + 1)...]
    } else {
      rest = bytes.drop { isName($0) }
    }
    guard let colon = rest.first else { return true }
    return colon == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(\.isDigit)
  }

  /// Returns whether a byte may occur in a name or an IPv4 address: unreserved, percent-encoded, sub-delims.
  private static func isName(_ byte: UInt8) -> Bool {
    byte.isUnreserved || "%!$&'()*+,;=".utf8.contains(byte)
  }

  /// Returns whether a byte may occur in an IPv6 (or later) address literal.
  private static func isLiteral(_ byte: UInt8) -> Bool { isName(byte) || byte == UInt8(ascii: ":") }
}
#endif
