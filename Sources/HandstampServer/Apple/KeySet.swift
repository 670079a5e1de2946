#if Server
import Foundation
import HandstampCore
import JWTKit

/// Another provider's keys, fetched when they are needed and kept as long as their `Cache-Control` says.
///
/// A key that is not among them is looked for once more, since providers change keys; but not more often than once in
/// ``KeySet/pause``, so that nobody can make the server fetch by sending it names that do not exist.
actor KeySet {
  /// The least time between two fetches.
  static let pause = Duration.seconds(30)
  /// How long keys are kept, whatever the provider says.
  static let lives: ClosedRange<Duration> = .seconds(60)...(.seconds(86_400))
  /// How long they are kept when the provider says nothing.
  static let usualLife = Duration.seconds(3600)
  /// How long keys go on being good when no others can be had.
  static let grace = Duration.seconds(3600)
  private static let maxKeys = 32
  private static let maxBytes = 64 * 1024

  private let url: String
  private let transport: any Transport
  private let now: @Sendable () -> UnixTime
  private var keys: [String: any JWTAlgorithm] = [:]
  private var goodUntil: UnixTime?
  private var triedAt: UnixTime?
  private var fetching: Task<Result<Fetched, IdentityTokenFault>, Never>?

  init(url: String, transport: any Transport, now: @escaping @Sendable () -> UnixTime) {
    self.url = url
    self.transport = transport
    self.now = now
  }

  /// The key of that name; nothing when the provider has none. Fails when the provider cannot be asked.
  func key(named kid: String) async throws(IdentityTokenFault) -> (any JWTAlgorithm)? {
    if isGood, let key = keys[kid] { return key }
    // Somebody else's fetch is as good as our own.
    guard fetching != nil || mayFetch else {
      if isGood { return nil }
      return try usable(kid, failure: .unavailable("the keys could not be fetched a moment ago"))
    }
    switch await fetch() {
    // Those that were fetched: whoever waited for somebody else's fetch may be here before ``keys`` is set.
    case .success(let fetched): return fetched.keys[kid]
    case .failure(let fault): return try usable(kid, failure: fault)
    }
  }

  private var isGood: Bool { goodUntil.map { now() < $0 } ?? false }
  private var mayFetch: Bool { triedAt.map { now().since($0) >= KeySet.pause || now() < $0 } ?? true }

  /// A key that was good a while ago, where no new ones can be had.
  private func usable(_ kid: String, failure: IdentityTokenFault) throws(IdentityTokenFault) -> (any JWTAlgorithm)? {
    guard let goodUntil, now() < goodUntil.advanced(by: KeySet.grace) else { throw failure }
    if let key = keys[kid] { return key }
    throw failure
  }

  private struct Fetched: Sendable {
    var keys: [String: any JWTAlgorithm]
    var life: Duration
  }

  /// One at a time; whoever comes meanwhile waits for it. It goes on when its first asker has gone.
  private func fetch() async -> Result<Fetched, IdentityTokenFault> {
    if let fetching { return await fetching.value }
    triedAt = now()
    let task = Task { [url, transport] in await KeySet.fetch(url, transport) }
    fetching = task
    let result = await task.value
    fetching = nil
    if case .success(let fetched) = result {
      keys = fetched.keys
      goodUntil = now().advanced(by: fetched.life)
    }
    return result
  }

  private static func fetch(_ url: String, _ transport: any Transport) async -> Result<Fetched, IdentityTokenFault> {
    let request = TransportRequest(
      method: "GET", url: url, headers: [HeaderField("Accept", "application/json")], timeout: .seconds(10),
      answerLimit: maxBytes)
    do throws(TransportError) {
      let answer = try await transport.send(request)
      guard answer.status == 200 else { return .failure(.unavailable("the keys' server says \(answer.status)")) }
      guard let keys = await read(answer.body) else { return .failure(.unavailable("the keys make no sense")) }
      return .success(Fetched(keys: keys, life: life(answer.header("Cache-Control"))))
    } catch {
      return .failure(.unavailable("the keys cannot be fetched: \(error)"))
    }
  }

  /// The RSA keys for RS256. A key that is of no use is left out; no key at all is no answer.
  private static func read(_ body: [UInt8]) async -> [String: any JWTAlgorithm]? {
    guard let set = try? JSONDecoder().decode(Keys.self, from: Data(body)) else { return nil }
    var keys: [String: any JWTAlgorithm] = [:]
    for jwk in set.keys.compactMap(\.key).prefix(maxKeys) {
      guard jwk.keyType == .rsa, let id = jwk.keyIdentifier else { continue }
      let collection = JWTKeyCollection()
      guard (try? await collection.add(jwk: jwk)) != nil,
        let key = try? await collection.getKey(for: id, alg: "RS256"), key.name == "RS256"
      else { continue }
      keys[id.string] = key
    }
    return keys.isEmpty ? nil : keys
  }

  /// A set of keys, some of which may be of kinds that are not known here.
  private struct Keys: Decodable {
    struct Member: Decodable {
      var key: JWK?
      init(from decoder: any Decoder) throws { key = try? JWK(from: decoder) }
    }
    var keys: [Member]
  }

  /// What `Cache-Control` says (RFC 9111 section 5.2.2), within limits.
  static func life(_ field: String?) -> Duration {
    guard let field else { return usualLife }
    var life = usualLife
    for directive in field.lowercased().split(separator: ",") {
      let directive = directive.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
      if directive == "no-store" || directive == "no-cache" { return lives.lowerBound }
      if directive.hasPrefix("max-age=") {
        // A number without end is a long one.
        life = Int64(directive.dropFirst(8)).map { .seconds(min(max($0, 0), 1 << 32)) } ?? lives.lowerBound
      }
    }
    return min(max(life, lives.lowerBound), lives.upperBound)
  }
}
#endif
