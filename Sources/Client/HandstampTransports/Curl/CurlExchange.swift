#if os(Linux)
import CHandstampLibraries
import HandstampCore
import HandstampSupport

/// One request over libcurl, and what has arrived for its caller.
// Unchecked: `arrived` is locked, and what is variable besides belongs to the loop's thread once the exchange was handed to it.
final class CurlExchange: @unchecked Sendable {
  enum Body: Sendable {
    case none
    case bytes([UInt8])
    case file(OpenFile)
  }

  /// The wait that the request's timeout limits.
  enum Limited: Sendable {
    case wholeResponse, head, progress
  }

  /// The state that the loop leaves for the reader.
  struct Arrived: Sendable {
    var head: TransportResponse?
    var bytes: [UInt8] = []
    var isPaused = false
    var end: Result<Void, TransportError>?

    mutating func takeHead() -> Result<TransportResponse, TransportError>? {
      if let head { return .success(head) }
      return end.map { .failure($0.failure ?? .connectionLost("the connection broke")) }
    }

    /// Returns the bytes, and whether the transfer was paused for them; `nil` for bytes at the end.
    mutating func takeChunk() -> Result<(chunk: [UInt8]?, mustResume: Bool), TransportError>? {
      guard bytes.isEmpty else {
        return .success((chunk: exchange(&bytes, with: []), mustResume: exchange(&isPaused, with: false)))
      }
      return end.map { end in end.map { (nil, false) } }
    }
  }

  /// The requests that share the connections to a server; a stream is in none. A refresh never waits for other requests of an app, which may
  /// reuse connections.
  struct Lane: Sendable, Hashable {
    var origin: Origin
    var mayReuseConnection: Bool
  }

  let lane: Lane?
  let arrived = Locked(Arrived())
  private(set) var easy: UnsafeMutableRawPointer?
  private(set) var deadline: ContinuousClock.Instant?

  private let request: TransportRequest
  private let url: String
  private let body: Body
  private let limited: Limited
  private let settings: NetworkSettings
  private let proxy: ProxyServer?
  private let signal: AsyncStream<Void>.Continuation

  private let words = UnsafeMutablePointer<CChar>.allocate(capacity: CurlExchange.wordsSize)
  private var lines: UnsafeMutableRawPointer?
  private var parser = CurlHeadParser()
  private var sentCount = 0
  private var receivedCount = 0
  private var isSent = false
  /// Why a callback has ended the transfer.
  private var ownFailure: TransportError?

  private static let wordsSize = 256  // CURL_ERROR_SIZE
  /// A slow reader of a stream stops the sender at so many bytes.
  private static let mostWaiting = 256 << 10

  init(
    _ request: TransportRequest, url: String, of origin: Origin, body: Body, limited: Limited,
    settings: NetworkSettings, _ signal: AsyncStream<Void>.Continuation
  ) {
    lane = limited == .head ? nil : Lane(origin: origin, mayReuseConnection: request.mayReuseConnection)
    (self.request, self.url, self.body, self.limited) = (request, url, body, limited)
    (self.settings, proxy, self.signal) = (settings, settings.proxies.server(for: url), signal)
    deadline = .now + request.timeout
    words.initialize(repeating: 0, count: CurlExchange.wordsSize)
  }

  deinit {
    words.deallocate()
    if let lines { handstamp_curl_free_list(lines) }
  }

  func isLate(at now: ContinuousClock.Instant) -> Bool { deadline.map { $0 <= now } ?? false }

  func finish(_ failure: TransportError?) {
    easy = nil
    let failure = ownFailure ?? failure
    arrived.withLock { $0.end = failure.map { .failure($0) } ?? .success(()) }
    signal.finish()
  }

  /// The reason for a CURLcode; `nil` for success.
  func failure(_ code: Int32) -> TransportError? {
    guard code != 0, let easy else { return nil }
    return TransportError(
      CurlFailure(
        code: code, isSent: isSent, errorNumber: Int32(handstamp_curl_info(easy, HSCurlErrorNumber)),
        connectStatus: handstamp_curl_info(easy, HSCurlConnectCode), words: String(cString: words), proxy: proxy,
        authorities: settings.certificateAuthorities))
  }

  // MARK: What the request is

  /// Returns the transfer, or `nil` if libcurl refuses an option.
  func prepare() -> UnsafeMutableRawPointer? {
    var tellsReady: Int32 = 0
    let context = Unmanaged.passUnretained(self).toOpaque()
    guard
      let easy = handstamp_curl_easy(
        context, { CurlExchange.count($1, $2, $3, $0) { $0.receive(head: $1) } },
        { CurlExchange.count($1, $2, $3, $0) { $0.receive(body: $1) } },
        { CurlExchange.count($1, $2, $3, $0) { $0.send(into: $1) } },
        { context, _, _, _, _ in
          CurlExchange.at(context)?.isSent = true
          return 0
        }, &tellsReady)
    else { return nil }
    // Where libcurl does not tell, a request that fails later counts as sent.
    isSent = tellsReady == 0
    self.easy = easy
    var options = CurlOptions(easy: easy)
    options.set(HSCurlURL, url)
    options.set(HSCurlPathAsIs, 1)
    options.set(HSCurlProtocols, HSCurlHTTPAndHTTPS)
    // With HTTP/2, a stream would share its connection with requests.
    options.set(HSCurlHTTPVersion, HSCurlHTTP11)
    options.set(HSCurlNoSignal, 1)
    options.set(HSCurlConnectTimeoutMs, Int(clamping: min(request.timeout, .seconds(10)).wholeMilliseconds + 1))
    options.set(HSCurlSSLVersion, HSCurlTLS12)
    // Decoded in any case: some servers compress without having been asked. Compression would hold back events of a stream.
    options.set(HSCurlAcceptEncoding, limited == .head ? "identity" : "")
    set(network: &options)
    set(body: &options)
    lines = headerLines()
    options.set(HSCurlHTTPHeader, pointer: lines)
    options.set(HSCurlErrorBuffer, pointer: UnsafeMutableRawPointer(words))
    if !mayReuseConnection {
      options.set(HSCurlFreshConnect, 1)
      options.set(HSCurlForbidReuse, 1)
    }
    // Not waiting for the thread that resolves a name, from libcurl 7.87 on.
    _ = handstamp_curl_number(easy, HSCurlQuickExit, 1)
    guard options.areSet else {
      self.easy = nil
      handstamp_curl_remove(nil, easy)
      return nil
    }
    return easy
  }

  /// Whether libcurl may repeat it. All transports of the process share its connections, and it does not compare keys of certificates.
  private var mayReuseConnection: Bool {
    guard case .none = body, settings.clientCertificate == nil else { return false }
    return request.mayReuseConnection && ["GET", "HEAD", "OPTIONS"].contains(request.method)
  }

  private func set(network options: inout CurlOptions) {
    // Set in any case: otherwise libcurl reads the environment, by rules of its own.
    options.set(HSCurlNoProxy, "")
    options.set(HSCurlProxy, proxy.map { ($0.kind == .socks5 ? "socks5h" : "http") + "\($0)".drop { $0 != ":" } } ?? "")
    if proxy?.kind == .http {
      // Also to `http` URLs: what the proxy answers in its own name is no response of the server.
      options.set(HSCurlHTTPProxyTunnel, 1)
      options.set(HSCurlSuppressConnectHeaders, 1)
    }
    proxy?.credentials?.withExposed { text in
      let name = text.prefix { $0 != ":" }
      options.set(HSCurlProxyUserName, String(name))
      options.set(HSCurlProxyPassword, String(text[name.endIndex...].dropFirst()))
    }
    if let file = settings.certificateAuthorities {
      options.set(HSCurlCAInfo, file)
      options.set(HSCurlCAPath, nil)
    }
    if let own = settings.clientCertificate {
      options.set(HSCurlSSLCert, own.certificate)
      options.set(HSCurlSSLKey, own.key)
      // Without one, the library for TLS would ask at the terminal.
      (own.passphrase ?? Secret("")).withExposed { options.set(HSCurlKeyPassword, $0) }
    }
  }

  private func set(body options: inout CurlOptions) {
    let size: Int64? =
      switch body {
      case .bytes(let bytes): Int64(bytes.count)
      case .file(let file): file.size
      // These say by `Content-Length: 0` that they have no content (RFC 9110 section 8.6).
      case .none: ["POST", "PUT", "PATCH"].contains(request.method) ? 0 : nil
      }
    if let size {
      options.set(HSCurlUpload, 1)
      options.set(HSCurlInFileSize, Int(size))
    }
    if request.method == "HEAD" {
      options.set(HSCurlNoBody, 1)
    } else if request.method != "GET" || size != nil {
      options.set(HSCurlCustomRequest, request.method)
    }
  }

  private func headerLines() -> UnsafeMutableRawPointer? {
    // Otherwise libcurl waits for `100 Continue`.
    request.headers.reduce(handstamp_curl_list(nil, "Expect:")) { lines, field in
      handstamp_curl_list(lines, field.value.isEmpty ? field.name + ";" : "\(field.name): \(field.value)")
    }
  }

  // MARK: Callbacks

  private static func at(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
    context.map { Unmanaged<CurlExchange>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func count(
    _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?, _ bytes: UnsafeMutablePointer<CChar>?,
    _ body: (CurlExchange, UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    guard let exchange = at(context) else { return 0 }
    if exchange.limited == .progress { exchange.deadline = .now + exchange.request.timeout }
    return body(exchange, UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
  }

  private func receive(head line: UnsafeMutableRawBufferPointer) -> Int {
    switch parser.add(Array(line)) {
    case .none: break
    case .tooLarge?:
      ownFailure = .tooLarge
      return 0
    case .head(let head)?:
      if limited == .head { deadline = nil }
      arrived.withLock { $0.head = head }
      signal.yield()
    }
    return line.count
  }

  private func receive(body bytes: UnsafeMutableRawBufferPointer) -> Int {
    receivedCount += bytes.count
    guard limited == .head || receivedCount <= request.maximumResponseSize else {
      ownFailure = .tooLarge
      return 0
    }
    let isPaused = arrived.withLock { arrived in
      if limited == .head, !arrived.bytes.isEmpty, arrived.bytes.count + bytes.count > CurlExchange.mostWaiting {
        arrived.isPaused = true
      } else {
        arrived.bytes.append(contentsOf: bytes)
      }
      return arrived.isPaused
    }
    if isPaused {
      // The same bytes come again.
      receivedCount -= bytes.count
      return HSCurlPause
    }
    signal.yield()
    return bytes.count
  }

  private func send(into room: UnsafeMutableRawBufferPointer) -> Int {
    var part: [UInt8] = []
    switch body {
    case .none: break
    case .bytes(let bytes): part = Array(bytes[sentCount...].prefix(room.count))
    case .file(let file):
      do throws(SystemError) { part = try file.read(upTo: room.count) } catch {
        ownFailure = .invalidRequest("the file cannot be read (\(error.reason))")
        return HSCurlAbortReading
      }
    }
    sentCount += part.count
    room.copyBytes(from: part)
    return part.count
  }
}

/// The options of a transfer.
private struct CurlOptions {
  fileprivate let easy: UnsafeMutableRawPointer
  /// Whether libcurl knew them all.
  private(set) var areSet = true

  mutating func set(_ option: HSCurlOption, _ value: Int) {
    areSet = areSet && handstamp_curl_number(easy, option, Int64(value)) == 0
  }

  mutating func set(_ option: HSCurlOption, _ text: String?) {
    areSet = areSet && handstamp_curl_text(easy, option, text) == 0
  }

  mutating func set(_ option: HSCurlOption, pointer: UnsafeMutableRawPointer?) {
    areSet = areSet && handstamp_curl_pointer(easy, option, pointer) == 0
  }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}
#endif
