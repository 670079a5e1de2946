#if Programs
import AsyncHTTPClient
import Foundation
import HTTPTypes
import HandstampCore
import NIOCore
import NIOHTTP1

/// Speaks HTTP to a server over a real socket, and reads responses as any other program would.
struct WireClient: Sendable {
  let base: String

  struct Answer: Sendable {
    var status: Int
    var headers: [String: String]
    var body: [UInt8]

    /// The headers without those that differ between any two answers.
    var sameHeaders: [String: String] { headers.filter { !["date", "x-request-id"].contains($0.key) } }
    var text: String { String(decoding: body, as: UTF8.self) }
    /// The object in the body; empty if there is none.
    var json: JSON { JSON((try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]) }
    var isProblem: Bool {
      headers["content-type"] == "application/problem+json" && json["status"] as Int? == status
        && json["code"] as String? != nil && json["title"] as String? != nil && json["type"] as String? != nil
    }
    var code: String? { json["code"] }
  }

  /// A JSON object with typed access to its fields.
  struct JSON: @unchecked Sendable {  // Unchecked: holds plain values of JSONSerialization that are never changed.
    let fields: [String: Any]
    init(_ fields: [String: Any]) { self.fields = fields }
    subscript<Value>(name: String) -> Value? { fields[name] as? Value }
    subscript(object name: String) -> JSON { JSON(fields[name] as? [String: Any] ?? [:]) }
    subscript(list name: String) -> [JSON] { (fields[name] as? [[String: Any]] ?? []).map { JSON($0) } }
  }

  func send(
    _ method: String, _ path: String, token: String? = nil, headers: [String: String] = [:], body: [UInt8]? = nil
  ) async throws -> Answer {
    var request = HTTPClientRequest(url: base + path)
    request.method = .init(rawValue: method)
    for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
    if let token { request.headers.replaceOrAdd(name: "Authorization", value: "Bearer \(token)") }
    if let body { request.body = .bytes(body) }
    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(240))
    var buffer = try await response.body.collect(upTo: 1 << 22)
    var fields: [String: String] = [:]
    for (name, value) in response.headers { fields[name.lowercased()] = value }
    return Answer(
      status: Int(response.status.code), headers: fields, body: buffer.readBytes(length: buffer.readableBytes) ?? [])
  }

  func get(_ path: String, token: String? = nil, headers: [String: String] = [:]) async throws -> Answer {
    try await send("GET", path, token: token, headers: headers)
  }

  func post(_ path: String, token: String? = nil, json: String) async throws -> Answer {
    try await send(
      "POST", path, token: token, headers: ["Content-Type": "application/json"], body: Array(json.utf8))
  }

  func post(_ path: String, form: String) async throws -> Answer {
    try await send(
      "POST", path, headers: ["Content-Type": "application/x-www-form-urlencoded"], body: Array(form.utf8))
  }
}

/// One event of a stream.
struct WireEvent: Sendable, Equatable {
  var id: String?
  var name: String?
  var data: String?
  var comment: String?

  var json: WireClient.JSON {
    WireClient.JSON(
      data.flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) } as? [String: Any] ?? [:])
  }
}

/// An open stream of events. Ends when the server ends it; ``close()`` disconnects.
final class WireStream {
  private var chunks: AsyncThrowingStream<String, any Error>.Iterator
  private let reading: Task<Void, Never>
  private var held = ""

  convenience init(_ client: WireClient, token: String, after last: String? = nil) async throws {
    try await self.init(client, path: "/v1/events", headers: ["Authorization": "Bearer \(token)"], after: last)
  }

  init(_ client: WireClient, path: String, headers: [String: String], after last: String? = nil) async throws {
    var request = HTTPClientRequest(url: client.base + path)
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    request.headers.add(name: "Accept", value: "text/event-stream")
    if let last { request.headers.add(name: "Last-Event-ID", value: last) }
    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(240))
    guard response.status == .ok, response.headers.first(name: "Content-Type") == "text/event-stream" else {
      throw Refused(status: Int(response.status.code))
    }
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: String.self)
    chunks = stream.makeAsyncIterator()
    reading = Task {
      do {
        for try await chunk in response.body { continuation.yield(String(buffer: chunk)) }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
  }

  deinit { reading.cancel() }

  func close() { reading.cancel() }

  struct Refused: Error { var status: Int }

  /// The next block of the stream; `nil` at its end.
  func nextBlock() async throws -> WireEvent? {
    while true {
      if let end = held.range(of: "\n\n") {
        let block = held[..<end.lowerBound]
        held = String(held[end.upperBound...])
        return WireStream.parse(block)
      }
      guard let chunk = try await chunks.next(isolation: #isolation) else { return nil }
      held += chunk
    }
  }

  /// The next block that is an event.
  func next() async throws -> WireEvent? {
    while let block = try await nextBlock() {
      if block.name != nil { return block }
    }
    return nil
  }

  private static func parse(_ block: Substring) -> WireEvent {
    var event = WireEvent()
    for line in block.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix(":") { event.comment = String(line.dropFirst().drop { $0 == " " }) }
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = String(line[line.index(after: colon)...].drop { $0 == " " })
      switch line[..<colon] {
      case "id": event.id = value
      case "event": event.name = value
      case "data": event.data = value
      default: break
      }
    }
    return event
  }
}
#endif
