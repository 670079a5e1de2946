#if Programs
import AsyncHTTPClient
import Crypto
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampTransports
import HandstampVerifier
import NIOCore
import NIOHTTP1

/// Measures the verification of access tokens, and how soon a revoked session is refused.
struct VerifierSpeed {
  let folder: String
  private let group = "verifier"

  @concurrent func measure(into report: inout Report) async throws {
    try await verification(into: &report)
    lookUp(into: &report)
    let memory = try RevocationMemory.measure(1_000_000)
    report.add(
      group, "memory of 1,000,000 revoked sessions", memory.growth, "MB", target: .atMost(64),
      note: "growth of resident memory, peak included, in a process of its own")
    report.add(
      group, "new revoked sessions", memory.rate, "/s", target: .atLeast(10_000),
      note: "parsed and stored, from 0 to 1,000,000")
    try await revocation(into: &report)
  }

  /// Every token is another one; both are measured in turns on the same tokens.
  private func verification(into report: inout Report) async throws {
    let count = 4000
    try await FedVerifier.run { fed in
      await fed.revoke(0..<100_000)
      let tokens = try (0..<count).map {
        try FedVerifier.token(of: FedVerifier.session(1_000_000 + $0), number: $0, by: fed.key)
      }
      let own = P256.Signing.PrivateKey()
      let bare = try tokens.map { token in
        let text = Array(token.utf8.prefix(upTo: token.utf8.lastIndex(of: UInt8(ascii: ".")) ?? token.utf8.startIndex))
        return (text, try own.signature(for: text).rawRepresentation)
      }
      let key = own.publicKey
      var times: (whole: [Double], bare: [Double]) = ([], [])
      for turn in 0...6 {
        await fed.confirm()
        let signature = try await Timing.once {
          for (text, raw) in bare {
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: raw)
            guard key.isValidSignature(signature, for: text) else { throw BenchError("a signature is not valid") }
          }
        }
        let whole = try await Timing.once {
          for token in tokens {
            guard try await fed.verifier.verify(token).assurance == .live else { throw BenchError("the feed is lost") }
          }
        }
        guard turn > 0 else { continue }
        times.whole.append(whole.inMicroseconds / Double(count))
        times.bare.append(signature.inMicroseconds / Double(count))
      }
      let share = times.bare.median / times.whole.median * 100
      report.add(
        group, "verification", share, "%", target: .atLeast(80),
        note:
          "of the rate of the bare ES256 check: \(times.whole.median.figure) µs and \(times.bare.median.figure) µs, every"
          + " token another one, 100,000 revoked sessions")
    }
  }

  private func lookUp(into report: inout Report) {
    let count = 1_000_000
    var list = RevocationList(capacity: count)
    for number in 0..<count { _ = list.insert(RevocationList.Key(FedVerifier.session(number)), until: 1 << 31) }
    let sessions = (0..<100_000).map { FedVerifier.session($0 * 20) }
    var (found, times) = (0, [Double]())
    let clock = ContinuousClock()
    for _ in 0..<7 {
      let start = clock.now
      for session in sessions where list.contains(session) { found += 1 }
      times.append((clock.now - start).inMicroseconds / Double(sessions.count))
    }
    report.add(
      group, "look-up among 1,000,000 sessions", times.median, "µs", target: .atMost(1),
      note: "by the text of the ID; half of them are there\(found == 350_000 ? "" : ", WRONG: \(found)")")
  }

  /// From the request that ends a session until each of 100 verifiers refuses its token.
  private func revocation(into report: inout Report) async throws {
    let (verifiers, rounds) = (100, 40)
    let (key, secret) = (JWSPrivateKey.es256(), "bench")
    let client = try ConfiguredClient(
      id: "bench", secretHash: Array(SHA256.hash(data: Data(secret.utf8))), flows: [], introspects: true)
    try await ServerUnderTest.run(in: folder, clients: [client]) { server in
      let issuer = "http://localhost"
      let keys = String(decoding: JWKSet([JWK(key.publicKey)]).json, as: UTF8.self)
      // One each, as if they were processes of their own.
      let transports = (0..<verifiers).map { _ in AsyncHTTPTransport() }
      let all = try transports.map { transport in
        try TokenVerifier(
          VerifierConfiguration(
            issuer: issuer, audiences: [issuer], keys: .fixed(keys),
            feed: FeedSettings(
              clientID: "bench", clientSecret: Secret(secret), url: server.url + "/v1/revocations", whenLost: .refuse)),
          transport: transport)
      }
      let running = all.map { verifier in Task { await verifier.run() } }
      while !all.allSatisfy({ $0.feedStatus?.isLive == true }) { await Task.yield() }
      for isOther in [false, true] {
        var times: [Double] = []
        for (round, session) in try await server.sessions(rounds).enumerated() {
          let id = session.row.id
          let token = try FedVerifier.token(of: id.rawValue, number: round, issuer: issuer, by: key)
          for verifier in all { _ = try await verifier.verify(token) }
          let start = ContinuousClock.now
          if isOther {
            // Not announced to the server's streams, like an end by another process.
            _ = try await server.registry.end(id, of: session.account.id, now: .current)
          } else {
            let text = server.token(of: session).secret.withExposed { $0 }
            var request = HTTPClientRequest(url: server.url + "/oauth/revoke")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(string: "token=" + text))
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
            guard answer.status == .ok else { throw BenchError("a session was not ended") }
          }
          var left = all
          while !left.isEmpty {
            var next: [TokenVerifier] = []
            for verifier in left {
              do throws(AccessError) { _ = try await verifier.verify(token) } catch {
                guard error == .sessionEnded else { throw BenchError("refused for another reason: \(error)") }
                times.append((ContinuousClock.now - start).inMilliseconds)
                continue
              }
              next.append(verifier)
            }
            left = next
            await Task.yield()
          }
        }
        let sorted = times.sorted()
        report.add(
          group, isOther ? "revoked elsewhere → refused, p99" : "revoked → refused, p99",
          sorted[sorted.count * 99 / 100],
          "ms", target: .atMost(1000),
          note: "\(verifiers) verifiers, \(rounds) sessions; median \(times.median.figure) ms"
            + (isOther ? "; ended by another process on the store" : ""))
      }
      for task in running { task.cancel() }
      for task in running { await task.value }
      for transport in transports { await transport.shutdown() }
    }
  }
}
#endif
