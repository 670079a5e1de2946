#if Programs
import HandstampCore
import HandstampJOSE
import HandstampServer
import HandstampSupport
import HandstampVerifier

/// A verifier with keys and a feed of its own, and the tokens for it.
struct FedVerifier: Sendable {
  static let issuer = "https://id.example.org"

  let verifier: TokenVerifier
  let key: JWSPrivateKey
  private let transport: FeedTransport

  /// Runs `body` with a verifier whose feed is live.
  static func run<Value>(_ body: (FedVerifier) async throws -> Value) async throws -> Value {
    let (key, transport) = (JWSPrivateKey.es256(), FeedTransport())
    let keys = String(decoding: JWKSet([JWK(key.publicKey)]).json, as: UTF8.self)
    let verifier = try TokenVerifier(
      VerifierConfiguration(
        issuer: issuer, audiences: [issuer], keys: .fixed(keys),
        feed: FeedSettings(clientID: "bench", clientSecret: Secret("bench"), whenLost: .refuse)), transport: transport)
    let running = Task { await verifier.run() }
    defer { running.cancel() }
    let fed = FedVerifier(verifier: verifier, key: key, transport: transport)
    await fed.confirm()
    return try await body(fed)
  }

  /// Sends ended sessions as the server does, in blocks of 512, as fast as they are taken.
  func revoke(_ numbers: Range<Int>) async {
    let until = FedVerifier.now.seconds + 3600
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 512) {
      var text = "event: revocations\nid: \(start)-bench\ndata: {\"sessions\":{"
      for number in start..<min(start + 512, numbers.upperBound) {
        text += (number > start ? "," : "") + "\"\(FedVerifier.session(number))\":\(until)"
      }
      await transport.send(Array((text + "}}\n\n").utf8))
    }
    while (verifier.feedStatus?.sessions ?? 0) < numbers.upperBound { await Task.yield() }
  }

  /// Says that the list is complete, and waits until the verifier has heard it.
  func confirm() async {
    await transport.send(Array("event: verification\ndata: {\"at_ms\":\(FedVerifier.now.milliseconds)}\n\n".utf8))
    while verifier.feedStatus?.isLive != true { await Task.yield() }
  }

  static var now: UnixTime { .current }

  /// The ID of a session, like the server's: 22 characters.
  static func session(_ number: Int) -> String {
    var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    var bytes: [UInt8] = []
    for _ in 0..<2 {
      state = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
      state = (state ^ state >> 27) &* 0x94D0_49BB_1331_11EB
      withUnsafeBytes(of: state) { bytes.append(contentsOf: $0) }
    }
    return Base64URL.encode(bytes)
  }

  /// A token like the server's.
  static func token(of session: String, number: Int, issuer: String = issuer, by key: JWSPrivateKey) throws -> String {
    let now = now.seconds
    let payload =
      #"{"iss":"\#(issuer)","sub":"01JD0000000000000000000000","aud":"\#(issuer)","client_id":"handstamp","auth_time":\#(now),"iat":\#(now),"exp":\#(now + 3600),"jti":"\#(session)\#(number)","sid":"\#(session)"}"#
    let header = CompactJWS.header(for: key.publicKey, type: "at+jwt")
    guard let token = CompactJWS.signed(Array(payload.utf8), under: header, by: key) else {
      throw BenchError("cannot sign")
    }
    return String(decoding: token, as: UTF8.self)
  }
}

/// Stands in for the network: the feed is what the benchmark sends.
private final class FeedTransport: Transport {
  private let waiting = Locked<[UInt8]?>(nil)

  func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    throw .notConnected("there is no server")
  }

  func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    let body = AsyncThrowingStream<[UInt8], any Error> { [self] in
      while !Task.isCancelled {
        if let bytes = waiting.withLock({ waiting in exchange(&waiting, with: nil) }) { return bytes }
        await Task.yield()
      }
      return nil
    }
    return TransportStream(status: 200, headers: [HeaderField("Content-Type", "text/event-stream")], body: body)
  }

  /// Returns when the reader has taken the bytes before these.
  func send(_ bytes: [UInt8]) async {
    while !waiting.withLock({ waiting in
      guard waiting == nil else { return false }
      waiting = bytes
      return true
    }) { await Task.yield() }
  }
}
#endif
