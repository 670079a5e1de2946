import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampOAuth

/// The answers in `Providers/answers.json`, as token endpoints of some seventy providers give them.
@Suite(.timeLimit(.minutes(10))) struct `The answer of a provider` {
  struct Entry: Decodable, Sendable, CustomTestStringConvertible {
    var provider: String
    var `case`: String
    var request: String
    var status: Int
    var contentType: String?
    var body: String
    var expected: String
    var code: String?
    var accessToken: String?
    var refreshToken: String?
    var expiresIn: Double?
    var testDescription: String { "\(provider): \(`case`)" }

    var response: TransportResponse {
      TransportResponse(
        status: status, headers: contentType.map { [HeaderField("Content-Type", $0)] } ?? [], body: Array(body.utf8))
    }
  }

  private static func load() throws -> [Entry] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Providers/answers.json")
    return try JSONDecoder().decode([Entry].self, from: Data(contentsOf: path))
  }

  /// The reading of an answer by this package, in the words of the file.
  private struct Reading: Equatable {
    var word: String
    var code: String?
    var tokens: TokenSet?
  }

  private func backend(_ server: StubServer) -> OAuthBackend {
    var client = OAuthClient(issuer: StubServer.issuer, id: "app")
    client.assumesBearerTokens = true
    return OAuthBackend(client, transport: server, time: OAuthTime(now: { UnixTime(seconds: 0) }, sleep: { _ in }))
  }

  private func read(_ entry: Entry) async throws -> Reading {
    let server = StubServer()
    // ID tokens in the file are placeholders.
    let token = StubServer.unsigned(#"{"iss":"\#(StubServer.issuer)","sub":"ann","aud":"app","exp":4000000000}"#)
    var response = entry.response
    let text = entry.body.replacing(#/"id_token":\s*"[^"]*"/#, with: #""id_token":"\#(token)""#)
    response.body = Array(text.utf8)
    server.on("/token") { [response] _, _ in response }
    guard entry.request != "refresh" else {
      let key = try #require(RotationKey(bytes: [UInt8](repeating: 7, count: 16)))
      return reading(await backend(server).refresh(RefreshRequest(token: RefreshToken("r0"), key: key)))
    }
    server.on(
      "/device",
      json: #"{"device_code":"d","user_code":"A","verification_uri":"https://id.example.org/go","expires_in":5}"#)
    do throws(SessionError) {
      let backend = backend(server)
      let grant =
        entry.request == "device"
        ? try await backend.signInOnAnotherDevice { _ in }
        : try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
      return Reading(word: "tokens", tokens: grant.tokens)
    } catch { return reading(error, of: entry) }
  }

  private func reading(_ result: RefreshResult) -> Reading {
    switch result {
    case .granted(let grant): Reading(word: "tokens", tokens: grant.tokens)
    case .rejected: Reading(word: "ended", code: "invalid_grant")
    case .superseded: Reading(word: "superseded")
    case .noDecision(let failure, _): reading(failure)
    }
  }

  private func reading(_ failure: RequestError) -> Reading {
    switch failure {
    case .server(let server), .configuration(let server):
      if failure.isEndpointRefusal { return Reading(word: "refused", code: server.error) }
      return Reading(word: (200..<300).contains(server.status) ? "not_understood" : "temporary", code: server.error)
    default: return Reading(word: "not_understood")
    }
  }

  private func reading(_ error: SessionError, of entry: Entry) -> Reading {
    switch error {
    // The code lived for one poll, so only the code of the answer tells these from each other.
    case .refused("expired_token", _) where entry.request == "device" && entry.expected != "expired":
      Reading(word: entry.code == "slow_down" ? "slow_down" : "pending", code: entry.code)
    case .refused("expired_token", _) where entry.request == "device": Reading(word: "expired", code: entry.code)
    case .refused("access_denied", _) where entry.request == "device":
      Reading(
        word: entry.code == "access_denied" || entry.expected == "denied" ? "denied" : "refused", code: entry.code)
    case .refused(let code, _): Reading(word: "refused", code: code)
    case .requestFailed(let failure, _): reading(failure)
    default: Reading(word: "not_understood")
    }
  }

  @Test func `is understood, as far as it can be`() async throws {
    let entries = try Self.load()
    #expect(entries.count >= 150 && Set(entries.map(\.provider)).count >= 30)
    var counts: [String: Int] = [:]
    for entry in entries {
      let found = try await read(entry)
      counts[found.word, default: 0] += 1
      guard entry.expected == "tokens" else {
        // A poll that is answered without a code is repeated until the code expires.
        let expected =
          entry.request == "device" && entry.code == nil && entry.status >= 400 ? "pending" : entry.expected
        #expect(found.word == expected, "\(entry.testDescription): \(found)")
        if entry.expected != "temporary", let code = entry.code, found.code != nil {
          #expect(found.code == code, "\(entry.testDescription): \(found)")
        }
        continue
      }
      #expect(found.word == "tokens", "\(entry.testDescription): \(found)")
      #expect(found.tokens?.access?.secret.withExposed { $0 } == entry.accessToken, "\(entry.testDescription)")
      #expect(found.tokens?.refresh?.secret.withExposed { $0 } == entry.refreshToken, "\(entry.testDescription)")
      let life = entry.expiresIn.flatMap { $0 > 0 ? Duration.seconds(min($0, 1e9)) : nil }
      #expect(found.tokens?.expiresIn == life, "\(entry.testDescription)")
    }
    print(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
  }
}
