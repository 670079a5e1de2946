#if Programs
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampServer

/// A connection to an address that was checked.
private struct Connection: Transport {
  let internet: ScriptedInternet
  let address: IPAddress

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    internet.sent.withLock { $0.append("\(request.url) \(address)") }
    return internet.response.withLock { $0 }
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .invalidRequest("documents are no streams")
  }
}

/// The way to documents, as a test says.
private final class ScriptedInternet: Sendable {
  let addresses = Locked(["93.184.216.34"])
  let response = Locked(ScriptedInternet.response())
  let sent = Locked<[String]>([])
  let time = Locked(UnixTime(seconds: 1_800_000_000))

  static let url = "https://app.example.org/client.json"

  static func response(
    _ body: String = #"{"client_id":"\#(url)","redirect_uris":["https://app.example.org/back"]}"#, status: Int = 200,
    type: String = "application/json", cache: String? = nil
  ) -> TransportResponse {
    TransportResponse(
      status: status,
      headers: [HeaderField("Content-Type", type)] + (cache.map { [HeaderField("Cache-Control", $0)] } ?? []),
      body: Array(body.utf8))
  }

  var documents: ClientDocuments { documents(continuing: nil) }

  func documents(continuing previous: ClientDocuments?) -> ClientDocuments {
    ClientDocuments(
      ClientDocumentSettings(
        rights: StrangerRights(scopes: []),
        source: PinnedNetwork(
          resolve: { _ in self.addresses.withLock { $0 }.compactMap { IPAddress($0) } },
          connect: { _, address in Connection(internet: self, address: address) }, close: { _ in })),
      now: { self.time.withLock { $0 } }, continuing: previous)
  }

  func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}

@Suite(.timeLimit(.minutes(10))) struct `A client's document` {
  private let internet = ScriptedInternet()
  private let url: ClientURL

  init() throws { url = try #require(ClientURL(ScriptedInternet.url)) }

  private func refusal(_ documents: ClientDocuments) async -> DescribedError? {
    do throws(DescribedError) {
      _ = try await documents.document(at: url)
      return nil
    } catch { return error }
  }

  @Test(arguments: [
    "https://app.example.org/client.json", "https://app.example.org/", "https://app.example.org:8443/a/b.json",
    "https://a-b.c1.example/x%20y",
  ])
  func `is at an https URL with a path`(_ text: String) {
    #expect(ClientURL(text)?.text == text)
  }

  @Test(arguments: [
    "app", "http://app.example.org/a", "https://app.example.org", "https://app.example.org/a?b=c",
    "https://app.example.org/a#b", "https://app.example.org/a#", "https://user@app.example.org/a",
    "https://app.example.org/../a", "https://app.example.org/./a", "https://app.example.org/%2e%2E/a",
    "https://APP.example.org/a", "https://app.example.org:443/a", "https://app.example.org:0/a", "https://localhost/a",
    "https://127.0.0.1/a", "https://2130706433/a", "https://0x7f.1/a", "https://127.1/a", "https://[::1]/a",
    "https://[2606:4700::1]/a", "https://app..example.org/a", "https://app.example.org./a",
    "https://app_x.example.org/a",
    "https://app.example.org\\@evil.example/a", "https://app.example.org/a b", "https://app.exämple.org/a",
    "https://app.example.org/" + String(repeating: "a", count: 200),
  ])
  func `is nowhere else`(_ text: String) {
    #expect(ClientURL(text) == nil)
  }

  @Test func `is fetched from the address that was checked`() async throws {
    #expect(try await internet.documents.document(at: url).redirectURIs == ["https://app.example.org/back"])
    #expect(internet.sent.withLock { $0 } == ["https://app.example.org/client.json 93.184.216.34"])
  }

  @Test(arguments: [
    // This host, private, shared, loopback, link-local with the services of clouds, protocols, documentation, 6to4 relays,
    // benchmarks, multicast, reserved, broadcast.
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254",
    "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
    "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    // Unspecified, loopback, IPv4 in IPv6 in each way, discard, unique-local, link-local, site-local, multicast, Teredo,
    // benchmarks, documentation.
    "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1",
    "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1", "2001::1", "2001:2::1", "2001:db8::1", "2002:7f00:1::1",
    "3fff::1",
  ])
  func `is not fetched from an address for special use, alone or among others`(_ address: String) async {
    for addresses in [[address], ["93.184.216.34", address], [address, "2606:4700::1"]] {
      internet.addresses.withLock { $0 = addresses }
      #expect(await refusal(internet.documents) == DescribedError("its host has an address that is not public"))
    }
    #expect(internet.sent.withLock { $0 }.isEmpty)
  }

  @Test(arguments: [
    "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.0.1.1", "198.17.255.255",
    "198.20.0.1", "223.255.255.255", "2606:4700::1", "2a00::1", "2001:200::1", "::ffff:1.1.1.1",
  ])
  func `is fetched from an address beside them`(_ address: String) async {
    internet.addresses.withLock { $0 = [address] }
    #expect(await refusal(internet.documents) == nil)
  }

  @Test func `is not fetched for a host without an address`() async {
    internet.addresses.withLock { $0 = [] }
    #expect(await refusal(internet.documents) == DescribedError("its host has no address"))
  }

  @Test(arguments: [301, 302, 307, 308, 204, 404, 500])
  func `comes with status 200, and not from elsewhere`(_ status: Int) async {
    internet.response.withLock { $0 = ScriptedInternet.response(status: status) }
    #expect(await refusal(internet.documents) == DescribedError("it cannot be fetched: the status is \(status)"))
    #expect(internet.sent.withLock { $0 }.count == 1)
  }

  @Test(arguments: [
    ("[]", "it is not a JSON object"), ("{", "it is not a JSON object"),
    (#"{"redirect_uris":["https://a.example/"]}"#, "its client_id is not its URL"),
    (#"{"client_id":"https://other.example/","redirect_uris":["https://a.example/"]}"#, "its client_id is not its URL"),
    (#"{"client_id":"URL"}"#, "its redirect_uris are missing"),
    (#"{"client_id":"URL","redirect_uris":[]}"#, "its redirect_uris are missing"),
    (#"{"client_id":"URL","redirect_uris":["javascript:x"]}"#, "one of its redirect_uris is not allowed"),
    (#"{"client_id":"URL","redirect_uris":["http://a.example/"]}"#, "one of its redirect_uris is not allowed"),
    (#"{"client_id":"URL","redirect_uris":["https://a.example/",1]}"#, "one of its redirect_uris is not allowed"),
    (#"{"client_id":"URL","redirect_uris":["https://a.example/"],"client_secret":"x"}"#, "it contains a secret"),
    (
      #"{"client_id":"URL","redirect_uris":["https://a.example/"],"client_secret_expires_at":0}"#,
      "it contains a secret"
    ),
    (
      #"{"client_id":"URL","redirect_uris":["https://a.example/"],"jwks":{"keys":[{"d":"x"}]}}"#, "it contains a secret"
    ),
    (
      #"{"client_id":"URL","redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"client_secret_basic"}"#,
      "its token_endpoint_auth_method is not none"
    ),
    (
      #"{"client_id":"URL","redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"private_key_jwt"}"#,
      "its token_endpoint_auth_method is not none"
    ),
    (
      #"{"client_id":"URL","redirect_uris":["https://a.example/"],"grant_types":["client_credentials"]}"#,
      "its grant_types lack authorization_code"
    ),
    (
      #"{"client_id":"URL","redirect_uris":["https://a.example/"],"response_types":["token"]}"#,
      "its response_types lack code"
    ),
  ])
  func `is refused with the reason`(_ body: String, words: String) async {
    let text = body.replacing("URL", with: ScriptedInternet.url)
    internet.response.withLock { $0 = ScriptedInternet.response(text) }
    let documents = internet.documents
    #expect(await refusal(documents) == DescribedError(words))
    // It is fetched again: only valid documents are remembered.
    internet.response.withLock { $0 = ScriptedInternet.response() }
    #expect(await refusal(documents) == nil)
  }

  @Test func `is JSON by its type`() async {
    for (type, isRight) in [
      ("application/json; charset=utf-8", true), ("application/oauth-client+json", true), ("text/html", false),
      ("text/json", false),
    ] {
      internet.response.withLock { $0 = ScriptedInternet.response(type: type) }
      #expect(await refusal(internet.documents) == (isRight ? nil : DescribedError("it is not JSON")), "\(type)")
    }
  }

  @Test func `has a name that cannot hide its host`() throws {
    func name(_ text: String) throws -> String? {
      let body = #"{"client_id":"\#(url.text)","redirect_uris":["https://a.example/"],"client_name":"\#(text)"}"#
      return try ClientDocument(Array(body.utf8), of: url).name
    }
    #expect(try name("Editor") == "Editor")
    #expect(try name("Bank (bank.example)") == "Bank bank.example")
    #expect(try name("a\u{202E}b\u{200B}c") == "abc")
    #expect(try name(String(repeating: "x", count: 1000)) == String(repeating: "x", count: 64))
    #expect(try name(" ") == nil)
  }

  @Test(
    arguments: [
      ("", 3600), ("max-age=600", 600), ("max-age=0", 300), ("no-store", 300), ("max-age=31536000", 86_400),
    ] as [(String, Int64)])
  func `is remembered as HTTP says, within bounds`(_ cache: String, seconds: Int64) async throws {
    internet.response.withLock { $0 = ScriptedInternet.response(cache: cache.isEmpty ? nil : cache) }
    let documents = internet.documents
    _ = try await documents.document(at: url)
    internet.advance(by: .seconds(seconds - 1))
    _ = try await documents.document(at: url)
    #expect(internet.sent.withLock { $0 }.count == 1)
    internet.advance(by: .seconds(1))
    _ = try await documents.document(at: url)
    #expect(internet.sent.withLock { $0 }.count == 2)
  }

  @Test func `is not fetched more often than its host can bear`() async {
    internet.response.withLock { $0 = ScriptedInternet.response(status: 500) }
    let documents = internet.documents
    for _ in 0..<ClientDocuments.perHost {
      #expect(await refusal(documents) == DescribedError("it cannot be fetched: the status is 500"))
    }
    #expect(await refusal(documents) == DescribedError("too many documents are being fetched"))
    let reloaded = internet.documents(continuing: documents)
    #expect(await refusal(reloaded) == DescribedError("too many documents are being fetched"))
    #expect(internet.sent.withLock { $0 }.count == ClientDocuments.perHost)
    internet.advance(by: .seconds(60))
    #expect(await refusal(documents) == DescribedError("it cannot be fetched: the status is 500"))
  }
}
#endif
