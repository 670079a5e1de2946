#if Server
public import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport
import Logging
import ServiceLifecycle

/// The configuration of Sign in with Apple.
public struct AppleSignIn: Sendable {
  /// The issuer of Apple's tokens.
  public static let issuer = "https://appleid.apple.com"
  /// The URL of Apple's keys.
  public static let keysURL = "https://appleid.apple.com/auth/keys"
  /// The URL that exchanges codes for tokens.
  public static let tokenURL = "https://appleid.apple.com/auth/token"
  /// The URL that revokes tokens.
  public static let revocationURL = "https://appleid.apple.com/auth/revoke"

  /// The apps and services whose tokens are accepted: their `aud`.
  public var clientIDs: Set<String>
  /// The `iss` of the tokens. Values other than Apple's are for tests.
  public var issuer: String
  /// The URL of the keys, as a JWK set (RFC 7517).
  public var keysURL: String
  /// The team's key, with which Apple's tokens of an account are revoked when it is deleted; `nil` leaves that to the user, in the
  /// settings of the device.
  public var key: AppleKey?
  public var tokenURL: String
  public var revocationURL: String
  /// Fetches the keys.
  public var transport: any Transport

  public init(
    clientIDs: Set<String>, issuer: String = AppleSignIn.issuer, keysURL: String = AppleSignIn.keysURL,
    key: AppleKey? = nil, tokenURL: String = AppleSignIn.tokenURL, revocationURL: String = AppleSignIn.revocationURL,
    transport: any Transport
  ) {
    self.clientIDs = clientIDs
    self.issuer = issuer
    self.keysURL = keysURL
    self.key = key
    self.tokenURL = tokenURL
    self.revocationURL = revocationURL
    self.transport = transport
  }
}

/// Gets Apple's token of each sign-in, and revokes it when the account is deleted, see ``AppleGrant`` and ``JobWorker``.
struct AppleGrants: NamedService {
  private static let interval = Duration.seconds(5)
  private static let pause = JobPause(first: .seconds(2), longest: .seconds(3600))
  /// How long a revocation is tried.
  private static let patience = Duration.seconds(30 * 86_400)
  private static let timeout = Duration.seconds(20)

  let server: SessionServer
  let apple: AppleSignIn
  let key: AppleKey

  func run() async throws {
    await JobWorker<AppleGrant>(
      server: server, bell: server.lasting.appleGrants, interval: AppleGrants.interval, width: 8,
      lease: AppleGrants.timeout * 3
    ) { job in try await work(on: job) }.run()
  }

  private enum Failure: Error {
    /// Apple does not take it, now or later.
    case refused(String)
    case unavailable(String)
  }

  private func work(on claimed: ClaimedJob<AppleGrant>) async throws(RegistryError) {
    var claimed = claimed
    do throws(Failure) {
      if let sealed = claimed.job.code {
        let token = try await exchange(try opened(sealed, claimed), claimed.job.client)
        do throws(RegistryError) {
          guard let noted = try await server.registry.note(appleToken: token, in: claimed) else { return }
          claimed = noted
        } catch { throw .unavailable("\(error)") }
      }
      guard claimed.job.endedAt != nil else { return }
      if let sealed = claimed.job.token {
        // Apple's `/auth/revoke` (*Revoke tokens*).
        _ = try await post(
          apple.revocationURL, claimed.job.client,
          [("token", try opened(sealed, claimed)), ("token_type_hint", Secret("refresh_token"))])
      }
    } catch { return try await retry(claimed, after: error) }
    try await server.registry.finish(claimed)
  }

  private func opened(_ text: String, _ claimed: ClaimedJob<AppleGrant>) throws(Failure) -> Secret {
    do throws(RegistryError) {
      guard let secret = try server.registry.mint.secret(text, for: .appleGrant, boundTo: claimed.context) else {
        throw .unavailable("it cannot be decrypted")
      }
      return secret
    } catch { throw .unavailable("\(error)") }
  }

  /// Apple's `/auth/token` (Sign in with Apple REST API, *Generate and validate tokens*).
  private func exchange(_ code: Secret, _ client: String) async throws(Failure) -> Secret {
    let body = try await post(
      apple.tokenURL, client, [("grant_type", Secret("authorization_code")), ("code", code)])
    guard let token = JSONValue(body)?["refresh_token"]?.string else { throw .refused("no refresh token") }
    return Secret(token)
  }

  private func post(
    _ url: String, _ client: String, _ fields: [(String, Secret)]
  ) async throws(Failure) -> [UInt8] {
    guard let secret = key.clientSecret(for: client, of: apple.issuer, at: server.clock.now) else {
      throw .unavailable("the key cannot sign")
    }
    let form = [("client_id", Secret(client)), ("client_secret", Secret(secret))] + fields
    let request = TransportRequest(
      method: "POST", url: url, headers: [HeaderField("Content-Type", "application/x-www-form-urlencoded")],
      body: [UInt8](form: form), timeout: AppleGrants.timeout, maximumResponseSize: 65_536)
    let response: TransportResponse
    do throws(TransportError) { response = try await apple.transport.send(request) } catch {
      throw .unavailable("\(error)")
    }
    switch response.status {
    case 200: return response.body
    // The key is the operator's mistake, and can be put right.
    case 400 where JSONValue(response.body)?["error"]?.string != "invalid_client": throw .refused("400")
    default: throw .unavailable("it answered \(response.status)")
    }
  }

  private func retry(
    _ claimed: ClaimedJob<AppleGrant>, after failure: Failure
  ) async throws(RegistryError) {
    let (words, isRefused) =
      switch failure {
      case .refused(let words): (words, true)
      case .unavailable(let words): (words, false)
      }
    let next = server.clock.now.advanced(by: AppleGrants.pause.after(attempts: claimed.job.tries.failures + 1))
    let limit = claimed.job.code == nil ? AppleGrants.patience : AppleGrant.codeLife
    // An outage is waited for from the deletion on, not from the sign-in, which may be years ago.
    let isOver = isRefused || next.since(claimed.job.endedAt ?? claimed.createdAt) >= limit
    let metadata: Logger.Metadata = ["handstamp.cause": "\(words)"]
    if !isOver {
      server.configuration.logger.warning("Apple's token not exchanged or revoked; will retry", metadata: metadata)
    } else {
      server.configuration.logger.error("Apple's token cannot be exchanged or revoked; given up", metadata: metadata)
    }
    try await server.registry.fail(claimed, because: words, until: isOver ? nil : next)
  }
}

/// A key of an Apple developer team for Sign in with Apple, with which a server asks Apple for tokens.
public struct AppleKey: Sendable {
  let team: String
  let id: String
  private let key: JWSPrivateKey

  /// - Parameters:
  ///   - team: the team's ID, ten letters and digits.
  ///   - id: the key's ID, ten letters and digits.
  ///   - pem: the file that Apple gives out once, `AuthKey_<id>.p8`. `nil` for any other text.
  public init?(team: String, id: String, pem: String) {
    guard let key = JWSPrivateKey(pem: pem), key.algorithm == .es256 else { return nil }
    (self.team, self.id, self.key) = (team, id, key)
  }

  /// The JWT that proves who asks (*Creating a client secret*): good for five minutes.
  func clientSecret(for client: String, of issuer: String, at now: UnixTime) -> String? {
    var header = JSONText([("alg", "ES256")])
    header.add("kid", id)
    var claims = JSONText([("iss", team)])
    claims.add("iat", now.seconds)
    claims.add("exp", now.seconds + 300)
    claims.add("aud", issuer)
    claims.add("sub", client)
    let signed = Base64URL.encode(Array(header.text.utf8)) + "." + Base64URL.encode(Array(claims.text.utf8))
    return key.signature(of: Array(signed.utf8)).map { signed + "." + Base64URL.encode($0) }
  }
}
#endif
