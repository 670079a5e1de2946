#if Operator && DEBUG
import Foundation
import HandstampCore
import HandstampSupport
import HTTPTypes
import Hummingbird
import NIOCore

@testable import HandstampCommand
@testable import HandstampCommandLine

extension Proxy: HTTPResponder {
  typealias Context = WireContext

  @concurrent func respond(to request: Hummingbird.Request, context: WireContext) async throws -> Response {
    // The body of a stream request is not read: its end shows that the reader has left.
    let isStream = request.uri.path == "/v1/events"
    let body = isStream ? [] : Array(try await request.body.collect(upTo: 1 << 20).readableBytesView)
    let outgoing = TransportRequest(
      method: request.method.rawValue, url: state.withLock { $0.target } + request.uri.string,
      headers: request.headers.compactMap { field in
        Proxy.isOfOneConnection(field.name.rawName) ? nil : HeaderField(field.name.rawName, field.value)
      }, body: body, timeout: .seconds(60))
    note(secretsOf: request, body)
    do throws(TransportError) {
      if isStream { return try await stream(outgoing, request) }
      if request.uri.path == "/oauth/token" { return try await carryRefresh(outgoing, context) }
      let answer = try await transport.send(outgoing)
      if request.uri.path == "/v1/sign-in" {
        try await meet(state.withLock { $0.signInFates.isEmpty ? .arrives : $0.signInFates.removeFirst() })
      }
      return response(answer)
    } catch {
      return try await breakConnection(context)
    }
  }

  private func carryRefresh(
    _ request: TransportRequest, _ context: WireContext
  ) async throws(TransportError) -> Response {
    let form = Proxy.form(request.body)
    let number = state.withLock { state in
      state.refreshes.append(Refresh(token: form["refresh_token"] ?? "", key: form["rotation_key"] ?? ""))
      state.inTheAir += 1
      state.mostInTheAir = max(state.mostInTheAir, state.inTheAir)
      return state.refreshes.count - 1
    }
    defer { state.withLock { $0.inTheAir -= 1 } }
    let replaced = state.withLock { state -> TransportResponse? in
      guard state.refreshAnswersLeft > 0 else { return nil }
      state.refreshAnswersLeft -= 1
      return state.refreshAnswer
    }
    if let replaced { return response(replaced) }
    var answer = try await transport.send(request)
    shorten(&answer)
    let tokens = try? JSONDecoder().decode([String: Value].self, from: Data(answer.body))
    let (fate, delay) = state.withLock { state in
      if state.refreshes.indices.contains(number) {
        state.refreshes[number].status = answer.status
        state.refreshes[number].successor = tokens?["refresh_token"]?.text
      }
      return (state.fates.isEmpty ? Fate.arrives : state.fates.removeFirst(), state.delay)
    }
    note(secretsOf: answer.body)
    try await meet(fate, after: delay)
    state.withLock { state in
      if state.refreshes.indices.contains(number) { state.refreshes[number].hasArrived = true }
    }
    return response(answer)
  }

  private func meet(_ fate: Fate, after delay: Duration = .zero) async throws(TransportError) {
    do {
      if delay > .zero { try await Task.sleep(for: delay) }
      switch fate {
      case .arrives: break
      case .isLost: throw TransportError.connectionLost("lost")
      case .waits(let isHere, let goOn):
        isHere.set(())
        try await goOn.value()
      }
    } catch {
      throw .connectionLost("lost")
    }
  }

  private func shorten(_ answer: inout TransportResponse) {
    guard let seconds = state.withLock({ $0.life }) else { return }
    // Zero would state no end.
    let life = seconds == 0 ? "0.001" : "\(seconds)"
    let text = String(decoding: answer.body, as: UTF8.self)
    answer.body = Array(text.replacing(#/"expires_in":[0-9]+/#, with: "\"expires_in\":\(life)").utf8)
  }

  private func stream(
    _ outgoing: TransportRequest, _ request: Hummingbird.Request
  ) async throws(TransportError) -> Response {
    let answer = try await transport.open(outgoing)
    return Response(
      status: .init(code: answer.status), headers: Proxy.fields(answer.headers),
      body: .init { writer in
        self.state.withLock { $0.openStreams += 1 }
        defer { self.state.withLock { $0.openStreams -= 1 } }
        try await request.body.consumeWithCancellationOnInboundClose { _ in
          for try await chunk in answer.body { try await writer.write(ByteBuffer(bytes: chunk)) }
        }
        try await writer.finish(nil)
      })
  }

  /// Breaks the connection, as if the server had died.
  private func breakConnection(_ context: WireContext) async throws -> Response {
    try? await context.channel.close()
    throw CancellationError()
  }

  private func response(_ answer: TransportResponse) -> Response {
    note(secretsOf: answer.body)
    return Response(
      status: .init(code: answer.status), headers: Proxy.fields(answer.headers),
      body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
  }

  // MARK: Secrets

  private func note(secretsOf request: Hummingbird.Request, _ body: [UInt8]) {
    var found = Proxy.form(body).filter { ["refresh_token", "rotation_key", "token"].contains($0.key) }.map(\.value)
    if let header = request.headers[.authorization] {
      found.append(header.replacingOccurrences(of: "Bearer ", with: ""))
    }
    remember(found)
    note(secretsOf: body)
  }

  private func note(secretsOf body: [UInt8]) {
    guard let object = try? JSONDecoder().decode([String: Value].self, from: Data(body)) else { return }
    let names = ["access_token", "refresh_token", "revocation_handle", "password"]
    remember(names.compactMap { object[$0]?.text })
  }

  private func remember(_ secrets: [String]) {
    state.withLock { $0.secrets.formUnion(secrets.filter { $0.utf8.count >= 8 }) }
  }

  // MARK: Parts of HTTP

  /// A member of a JSON object, if it is a string.
  private struct Value: Decodable {
    var text: String?
    init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
  }

  /// Whether a field applies to one connection only (RFC 9110 section 7.6.1), or is set by the transport.
  private static func isOfOneConnection(_ name: String) -> Bool {
    ["connection", "keep-alive", "transfer-encoding", "content-length", "host", "te", "upgrade"].contains(
      name.lowercased())
  }

  private static func fields(_ fields: [HeaderField]) -> HTTPFields {
    var result = HTTPFields()
    for field in fields where !isOfOneConnection(field.name) {
      if let name = HTTPField.Name(field.name) { result.append(HTTPField(name: name, value: field.value)) }
    }
    return result
  }

  private static func form(_ body: [UInt8]) -> [String: String] {
    guard let text = String(utf8Bytes: body) else { return [:] }
    var fields: [String: String] = [:]
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      if parts.count == 2 { fields[String(parts[0])] = parts[1].removingPercentEncoding }
    }
    return fields
  }
}
#endif
