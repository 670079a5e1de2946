#if LoopbackRedirect
import HandstampCore
import NIOCore
import NIOHTTP1

/// Handles one connection from a browser.
final class CallbackHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let desk: Desk

  init(desk: Desk) { self.desk = desk }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data) else { return }
    switch head.method == .GET ? desk.take(head.uri) : .elsewhere {
    case .taken: answer(context, .ok, "You can close this window and return to the app.")
    case .unknown: answer(context, .badRequest, "This sign-in link is no longer active. Start again from the app.")
    case .error(let code):
      answer(
        context, .badRequest, "The server refused this sign-in: \(code). The app still waits for another response.")
    case .elsewhere: answer(context, .notFound, "Page not found.")
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  /// Answers with a page that runs nothing, loads nothing, and sends no referrer, because its URL contains the code.
  private func answer(_ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ words: String) {
    let page = ByteBuffer(
      string: """
        <!doctype html><html lang="en"><meta charset="utf-8"><title>Handstamp</title><p>\(words)</p></html>

        """)
    let headers: HTTPHeaders = [
      "Content-Type": "text/html; charset=utf-8", "Content-Length": "\(page.readableBytes)",
      "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Connection": "close",
    ]
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(page))), promise: nil)
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
  }
}
#endif
