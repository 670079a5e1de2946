#if Command
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// One message to the server, and what it answers.
extension Bridge {
  /// A request whose tool works for long has a response late; the client decides how long it waits.
  private static let patience = Duration.seconds(3600)
  /// The largest response that is no message, in bytes.
  private static let longestRefusal = 256 << 10

  /// Sends a message and passes on what the server answers. Requests that were not answered are in `open` afterwards.
  ///
  /// - Parameter isAgain: whether the bridge repeats a message of its own accord: the response is not the client's.
  func exchange(
    _ message: ClientMessage, _ open: inout Set<RequestID>, isAgain: Bool = false
  ) async throws(CommandError) {
    var token = try await token()
    var (isRenewed, isReopened, isRepeated) = (false, false, false)
    while true {
      if session.isLost, !message.opens, !isAgain, !isReopened {
        isReopened = true
        guard await reopen(session.generation) else {
          throw CommandError(
            .network, "\(server.host) has ended the session, and begins no other one", hint: "try again later",
            code: "session_lost")
        }
      }
      let sent = session
      let response: TransportStream
      do throws(TransportError) { response = try await transport.open(request(message, sent, token)) } catch {
        guard message.isRepeatable, !isRepeated, case .connectionLost = error else { throw lost(error, message) }
        isRepeated = true
        continue
      }
      switch response.status {
      case 200..<300: return try await deliver(response, of: message, &open, in: sent, isAgain: isAgain)
      case 401 where !isRenewed:
        let challenge = ReceivedChallenge(response.headers)
        _ = try await whole(response.body, limit: Bridge.longestRefusal)
        token = try await self.token(insteadOf: token, challenge)
        isRenewed = true
      case 403 where ReceivedChallenge(response.headers)?.error == "insufficient_scope":
        guard let challenge = ReceivedChallenge(response.headers) else { return }
        throw await access.stepUp(challenge)
      case 404 where sent.id != nil && !message.opens && !isReopened && !isAgain:
        guard await reopen(sent.generation) else { return try await refuse(response, of: message, &open) }
        isReopened = true
      default:
        guard !isAgain else { throw refused(response) }
        return try await refuse(response, of: message, &open)
      }
    }
  }

  private func request(_ message: ClientMessage, _ session: RemoteSession, _ token: AccessToken?) -> TransportRequest {
    let request = TransportRequest(
      method: "POST", url: server.url, headers: session.fields(for: message), body: message.bytes,
      timeout: Bridge.patience)
    return token.map { request.authorized(by: $0) } ?? request
  }

  // MARK: Responses

  private func deliver(
    _ response: TransportStream, of message: ClientMessage, _ open: inout Set<RequestID>, in sent: RemoteSession,
    isAgain: Bool
  ) async throws(CommandError) {
    if message.opens { session.began(response.headers, in: sent.generation) }
    succeeded()
    if message.isOpened || isMuted { listen() }
    let type = response.headers.first(named: "Content-Type")?.lowercased() ?? ""
    guard !message.awaited.isEmpty else {
      // To its end, so that the connection can be used again. A stream here is against the protocol, and may have none.
      if !type.hasPrefix("text/event-stream") { _ = try await whole(response.body, limit: Bridge.longestRefusal) }
      return
    }
    if type.hasPrefix("text/event-stream") {
      return try await events(response, of: message, &open, in: sent, isAgain: isAgain)
    }
    let body = try await whole(response.body, limit: Bridge.longestMessage)
    guard type.hasPrefix("application/json"), let facts = MessageFacts.all(in: body) else {
      throw CommandError(
        .failure, "\(server.host) answered \(response.status) without a JSON-RPC response", hint: "ask its operator",
        code: "invalid_response")
    }
    await pass(body, facts, &open, in: sent, isAgain: isAgain)
  }

  /// Passes on one message of the server, or a batch.
  func pass(
    _ bytes: [UInt8], _ facts: [MessageFacts], _ open: inout Set<RequestID>, in sent: RemoteSession,
    isAgain: Bool = false
  ) async {
    for part in facts {
      guard case .response(let id?) = part.kind else { continue }
      guard open.remove(id) != nil else { continue }
      if !isAgain { answered(id) }
      if sent.opening?.awaited == [id] { session.agreed(on: part.version, in: sent.generation) }
    }
    if !isAgain { await send(bytes) }
  }

  /// Passes on a refusal: the server's own words if they are JSON-RPC, also where they name no request.
  private func refuse(
    _ response: TransportStream, of message: ClientMessage, _ open: inout Set<RequestID>
  ) async throws(CommandError) {
    let body = (try? await whole(response.body, limit: Bridge.longestRefusal)) ?? []
    guard let facts = MessageFacts.all(in: body), facts.count == 1, let refusal = facts[0].refusal else {
      throw refused(response)
    }
    if case .response(let id?) = facts[0].kind, open.remove(id) != nil {
      answered(id)
      return await send(body)
    }
    // It names another request, or none.
    for id in message.awaited where open.remove(id) != nil {
      answered(id)
      await send(BridgeReply.response(to: id, code: refusal.code, refusal.message))
    }
  }

  private func refused(_ response: TransportStream) -> CommandError {
    let status = response.status
    switch status {
    case 300..<400:
      let place = response.headers.first(named: "Location").map { " to \($0.onOneLine)" } ?? ""
      return CommandError(
        .failure, "\(server.url) redirects\(place)", hint: "use that address if it is the server's",
        code: "status_\(status)")
    case 401:
      return CommandError(
        .failure, "\(server.host) rejects a token that was just issued for it",
        hint: "compare the audience of the token with the server's, see: handstamp token --help", code: "token_rejected"
      )
    case 429, 500...:
      return CommandError(
        .network, "\(server.host) answered \(status)", hint: "try again later", code: "status_\(status)")
    default:
      return CommandError(
        .failure, "\(server.host) answered \(status)", hint: "check that this is the address of an MCP server",
        code: "status_\(status)")
    }
  }

  private func lost(_ error: TransportError, _ message: ClientMessage) -> CommandError {
    let refusal = CommandError(.network(error), server: ServerAddress(listed: server.host))
    guard case .connectionLost = error, !message.isRepeatable else { return refusal }
    return refusal.hinting("the server may have carried out the request; find out before you repeat it")
  }

  /// Reads a whole body.
  func whole(_ body: AsyncThrowingStream<[UInt8], any Error>, limit: Int) async throws(CommandError) -> [UInt8] {
    var bytes: [UInt8] = []
    do {
      for try await part in body {
        guard bytes.count + part.count <= limit else { throw TransportError.tooLarge }
        bytes += part
      }
    } catch {
      throw CommandError(
        .network(error as? TransportError ?? .connectionLost("\(type(of: error))")),
        server: ServerAddress(listed: server.host))
    }
    return bytes
  }
}
#endif
