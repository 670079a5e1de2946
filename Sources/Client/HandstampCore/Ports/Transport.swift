import HandstampSupport

/// Sends HTTP requests. Never follows redirects to another origin, and never uses cookies or caches.
public protocol Transport: Sendable {
  /// Sends a request and returns the complete response.
  ///
  /// - Throws: ``TransportError``; ``TransportError/tooLarge`` if the body exceeds ``TransportRequest/maximumResponseSize``.
  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse

  /// Sends a request whose body is the content of a file, in place of ``TransportRequest/body``, and returns the complete response. Only
  /// parts of the file are in memory at a time. ``TransportRequest/timeout`` limits the time without any progress.
  ///
  /// - Parameter path: the path of a file. It is read anew by each call.
  /// - Throws: as ``send(_:)``. The default throws ``TransportError/invalidRequest(_:)``: a transport that sends no files.
  @concurrent func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse

  /// Sends a request, and writes the body of a response with a status of 2xx to a new file; that of any other is returned. Only parts of
  /// the file are in memory at a time. ``TransportRequest/timeout`` limits the time without any progress.
  ///
  /// - Parameter path: the path of the file, which only its owner can read. A file that is there is replaced. It may be incomplete if
  ///   an error is thrown.
  /// - Throws: as ``send(_:)``; ``TransportError/invalidRequest(_:)`` if the file cannot be written. The default writes the body of
  ///   ``open(_:)``, which is enough for a transport whose streams are pulled by the reader.
  @concurrent func download(
    _ request: TransportRequest, toFile path: String
  ) async throws(TransportError) -> TransportResponse

  /// Sends a request and streams the response body as it arrives, for server-sent events. Cancelling the task that reads the
  /// body ends the request.
  ///
  /// - Throws: ``TransportError`` if no response head arrives.
  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream
}

/// One HTTP request, independent of any connection.
public struct TransportRequest: Sendable, Hashable {
  /// The HTTP method, such as `GET`.
  public var method: String
  /// The absolute URL, `http` or `https`.
  public var url: String
  /// The header fields.
  public var headers: [HeaderField]
  /// The body; empty for none.
  public var body: [UInt8]
  /// How long to wait for the complete response; for a stream, for its head. Default 20 s: too short for a refresh at a server
  /// without rotation keys, see ``Backend/refresh(_:)``.
  public var timeout: Duration
  /// The largest body that is accepted, in bytes; a longer one throws ``TransportError/tooLarge``. Default 8 MiB.
  public var maximumResponseSize: Int
  /// Whether the request may use a kept-alive connection. The server may be closing such a connection at that moment, and then
  /// it is unknown whether the request arrived: a request that must not be sent twice uses a new connection. Default `true`.
  public var mayReuseConnection: Bool

  public init(
    method: String, url: String, headers: [HeaderField] = [], body: [UInt8] = [],
    timeout: Duration = .seconds(20), maximumResponseSize: Int = 8 << 20, mayReuseConnection: Bool = true
  ) {
    self.mayReuseConnection = mayReuseConnection
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
    self.maximumResponseSize = maximumResponseSize
  }
}

extension TransportRequest {
  /// Returns the request with `token` as its bearer token (RFC 6750 section 2.1), replacing any other `Authorization` header.
  package func authorized(by token: AccessToken) -> TransportRequest {
    var request = self
    request.headers.removeAll { $0.name.lowercased() == "authorization" }
    request.headers.append(.bearer(token.secret))
    return request
  }

  /// - Throws: ``TransportError/invalidRequest(_:)`` if the method or a header field could be read as more than one.
  package func check() throws(TransportError) {
    guard TransportRequest.isToken(method) else { throw .invalidRequest("not a valid method") }
    for field in headers {
      guard !field.value.utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }), TransportRequest.isToken(field.name)
      else {
        throw .invalidRequest(
          "a header contains a line break or another invalid character: \(field.name.prefix { $0.isLetter || $0 == "-" })"
        )
      }
    }
  }

  /// RFC 9110 section 5.6.2.
  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }
}

extension HeaderField {
  /// `Authorization: Bearer …` (RFC 6750 section 2.1).
  package static func bearer(_ token: Secret) -> HeaderField {
    HeaderField("Authorization", token.withExposed { "Bearer " + $0 })
  }

  /// `Authorization: Basic …` of a confidential client (RFC 6749 section 2.3.1): both parts are form-encoded first.
  package static func basic(_ id: String, _ secret: Secret) -> HeaderField {
    let text = secret.withExposed { PercentEncoding.encode(id) + ":" + PercentEncoding.encode($0) }
    return HeaderField("Authorization", "Basic " + Base64URL.standard(Array(text.utf8)))
  }
}

extension TransportRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The method and the URL without its query; headers and body may contain secrets.
  public var description: String { "\(method) \(url.prefix { $0 != "?" && $0 != "#" })" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

/// The complete response.
public struct TransportResponse: Sendable, Hashable {
  /// The HTTP status code.
  public var status: Int
  /// The header fields, in order. Each `Set-Cookie` is one of its own: `URLSession` joins them, and a transport that stands on it takes
  /// them apart, as `URLSessionTransport` does.
  public var headers: [HeaderField]
  /// The complete body.
  public var body: [UInt8]

  public init(status: Int, headers: [HeaderField] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Returns the value of the first header field with that name, ignoring case.
  public func header(_ name: String) -> String? { headers.first(named: name) }

  /// Whether the body is a page for people, such as that of a captive portal.
  package var isPage: Bool {
    if let type = header("Content-Type")?.lowercased(), type.contains("html") { return true }
    return body.first { ![9, 10, 13, 32].contains($0) } == UInt8(ascii: "<")
  }
}

extension TransportResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The status and the body's size; headers and body may contain secrets.
  public var description: String { "\(status), \(body.count) bytes" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}

/// A response whose body arrives in parts.
public struct TransportStream: Sendable {
  /// The HTTP status code.
  public var status: Int
  /// The header fields, in order.
  public var headers: [HeaderField]
  /// The body; throws a ``TransportError`` if the connection breaks.
  public var body: AsyncThrowingStream<[UInt8], any Error>

  public init(status: Int, headers: [HeaderField], body: AsyncThrowingStream<[UInt8], any Error>) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The response without its body.
  package var head: TransportResponse { TransportResponse(status: status, headers: headers) }
}

/// One header field.
public struct HeaderField: Sendable, Hashable {
  /// The field's name, in any case.
  public var name: String
  /// The field's value.
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

extension [HeaderField] {
  /// Returns the value of the first field with that name, ignoring case.
  package func first(named name: String) -> String? {
    let wanted = name.lowercased()
    return first { $0.name.lowercased() == wanted }?.value
  }
}

extension Transport {
  @concurrent public func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    throw .invalidRequest("this transport sends no files")
  }

  @concurrent public func download(
    _ request: TransportRequest, toFile path: String
  ) async throws(TransportError) -> TransportResponse {
    let stream = try await open(request)
    let body = try await withIdleLimit(request.timeout, throwing: TransportError.timedOut) {
      progress throws(TransportError) in
      try await stream.received(in: path, limit: request.maximumResponseSize, progress)
    }
    return TransportResponse(status: stream.status, headers: stream.headers, body: body)
  }
}

extension TransportStream {
  /// Writes the body to a file if the status is 2xx; returns it otherwise.
  @concurrent fileprivate func received(
    in path: String, limit: Int, _ progress: @Sendable () -> Void
  ) async throws(TransportError) -> [UInt8] {
    var bytes: [UInt8] = []
    do {
      let file = (200..<300).contains(status) ? try NewFile(path) : nil
      for try await chunk in body {
        progress()
        if let file {
          try file.append(chunk)
        } else {
          guard bytes.count + chunk.count <= limit else { throw TransportError.tooLarge }
          bytes += chunk
        }
      }
      // A reader that is cancelled sees an end of the body.
      if Task.isCancelled { throw TransportError.cancelled }
      return bytes
    } catch {
      throw TransportError(receiving: error)
    }
  }
}

extension TransportError {
  /// Why a body could not be received.
  package init(receiving error: any Error) {
    self =
      switch error {
      case let error as TransportError: error
      case let error as SystemError: .invalidRequest("the file cannot be written (\(error.reason))")
      default: .connectionLost("\(type(of: error))")
      }
  }
}
