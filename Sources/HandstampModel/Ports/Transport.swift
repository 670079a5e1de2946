/// Carries one HTTP request. Redirects are never followed to another origin, cookies and caches are never used.
public protocol Transport: Sendable {
  /// Sends a request and gathers the whole answer, at most ``TransportRequest/answerLimit`` bytes of it.
  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse

  /// Sends a request and hands out the answer's body as it comes, for server-sent events. Cancelling the task that reads
  /// ends the request.
  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream
}

/// One request, without any state of a connection.
public struct TransportRequest: Sendable, Hashable {
  public var method: String
  /// Absolute, `http` or `https`.
  public var url: String
  public var headers: [HeaderField]
  public var body: [UInt8]
  /// How long to wait for the whole answer; for a stream, for its head.
  public var timeout: Duration
  /// The most bytes of body that are accepted; more is ``TransportError/tooLarge``.
  public var answerLimit: Int
  /// Whether a connection that was kept open may carry it. A server may be closing such a one at this moment, and then it is
  /// not known whether the request arrived: what must not be sent twice goes over a connection of its own. Default `true`.
  public var mayReuseConnection: Bool

  public init(
    method: String, url: String, headers: [HeaderField] = [], body: [UInt8] = [],
    timeout: Duration = .seconds(20), answerLimit: Int = 8 << 20, mayReuseConnection: Bool = true
  ) {
    self.mayReuseConnection = mayReuseConnection
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
    self.answerLimit = answerLimit
  }
}

extension TransportRequest {
  /// The request with `token` as its bearer (RFC 6750 section 2.1), and no other authorization.
  package func authorized(by token: AccessToken) -> TransportRequest {
    var request = self
    request.headers.removeAll { $0.name.lowercased() == "authorization" }
    request.headers.append(HeaderField("Authorization", token.secret.withExposed { "Bearer " + $0 }))
    return request
  }
}

extension TransportRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Method and address without its query; headers and body may hold secrets.
  public var description: String { "\(method) \(url.prefix { $0 != "?" && $0 != "#" })" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

/// The whole answer.
public struct TransportResponse: Sendable, Hashable {
  public var status: Int
  public var headers: [HeaderField]
  public var body: [UInt8]

  public init(status: Int, headers: [HeaderField] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The first field of that name, letter case aside.
  public func header(_ name: String) -> String? { headers.first(named: name) }
}

extension TransportResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The status and the body's size; headers and body may hold secrets.
  public var description: String { "\(status), \(body.count) bytes" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}

/// An answer whose body comes bit by bit.
public struct TransportStream: Sendable {
  public var status: Int
  public var headers: [HeaderField]
  /// The body; it throws a ``TransportError`` when the connection breaks.
  public var body: AsyncThrowingStream<[UInt8], any Error>

  public init(status: Int, headers: [HeaderField], body: AsyncThrowingStream<[UInt8], any Error>) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// One line of a header.
public struct HeaderField: Sendable, Hashable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

extension [HeaderField] {
  /// The value of the first field of that name, letter case aside.
  public func first(named name: String) -> String? {
    let wanted = name.lowercased()
    return first { $0.name.lowercased() == wanted }?.value
  }
}

/// Why no answer came.
public enum TransportError: Error, Sendable, Hashable {
  /// No connection could be made (no network, no such host, refused, TLS failed): nothing of the request was sent.
  case notConnected(String)
  /// The connection broke, or it is not known whether there was one; the text names the cause, without addresses' queries and without bodies.
  case unreachable(String)
  case timedOut
  case cancelled
  /// The answer was longer than the request allows.
  case tooLarge
  /// The request cannot be sent as it is: an address that is none, a header with a line break.
  case invalidRequest(String)
}
