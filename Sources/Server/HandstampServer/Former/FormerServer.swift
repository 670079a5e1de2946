#if Server
public import HandstampCore
import HandstampSupport

/// The system that the users come from, whose live sessions this server takes over. See the guide `docs/taking-over.md`.
///
/// A table of its tokens is imported by ``Administration/importFormer(_:)``. A token that is not in it is asked about at the former
/// system, if one of the URLs is set; otherwise it is refused.
public struct FormerSystem: Sendable {
  /// The issuer in ``ExternalIdentity`` by which accounts are found. `nil` (the default) finds them by their ID, which an import has kept.
  public var issuer: String?
  /// The member of a response or token with the user's ID there. Default `sub`.
  public var subject = "sub"
  /// The client by which the former system is asked, usually the app's own.
  public var clientID: String?
  /// Its secret, sent by HTTP Basic; `nil` for a public client, which sends its ID in the form.
  public var clientSecret: Secret?
  /// The clients whose tokens are taken over, as an introspection names them. Empty (the default) is ``clientID`` alone. A token endpoint
  /// accepts tokens of ``clientID`` only.
  public var appIDs: Set<String> = []
  /// The introspection endpoint (RFC 7662). Without a ``tokenURL`` it is asked about refresh tokens, otherwise about the user of an access
  /// token.
  public var introspectionURL: String?
  /// The token endpoint, for systems that do not introspect refresh tokens: each is refreshed there once.
  public var tokenURL: String?
  /// The userinfo endpoint, which names the user of an access token.
  public var userInfoURL: String?
  /// The revocation endpoint (RFC 7009), where a session ends once it goes on here.
  public var revocationURL: String?
  /// The base URL of a GoTrue (Supabase Auth), such as `https://id.example.org/auth/v1`, in place of all of these. ``clientSecret`` is its
  /// API key.
  public var goTrueURL: String?

  /// Creates one that takes over what was imported.
  public init() {}

  /// Whether tokens that were not imported are asked about.
  package var isAsked: Bool { goTrueURL != nil || tokenURL != nil || introspectionURL != nil }
  var isRefreshed: Bool { goTrueURL != nil || tokenURL != nil }
  /// Whether a session can be ended there.
  var ends: Bool { goTrueURL != nil || revocationURL != nil }

  /// - Throws: ``ServerConfigurationError/former(_:)``.
  func check() throws(ServerConfigurationError) {
    let urls = [introspectionURL, tokenURL, userInfoURL, revocationURL, goTrueURL].compactMap(\.self)
    guard urls.allSatisfy({ Origin($0)?.isTrustworthy == true }) else {
      throw .former("the URLs of the former system must be https")
    }
    guard goTrueURL == nil || urls.count == 1 else {
      throw .former("a GoTrue has no other endpoints than those below its URL")
    }
    guard userInfoURL == nil || tokenURL != nil else {
      throw .former("the userinfo endpoint of the former system is of use only with its token endpoint")
    }
  }
}

/// The tokens that the former system gives in place of a refresh token.
struct FormerGrant: Sendable {
  var access: Secret
  /// The successor; the refresh token itself if the system does not rotate.
  var refresh: Secret
  fileprivate var response: JSONValue
}

struct FormerUser: Sendable, Hashable {
  var subject: String
  /// When the user signed in there; `nil` if the system does not say.
  var authenticatedAt: UnixTime?
}

/// A reason for which a former token begins no session.
enum FormerError: Error, Sendable, Hashable {
  /// The session has ended there, or there never was one.
  case ended
  /// It cannot be known now. The text says why, without any secret.
  case unavailable(String, retryAfter: Int?)
}

/// Asks the former system.
struct FormerServer: Sendable {
  /// How long the former system may take to answer.
  static let timeout = Duration.seconds(10)
  /// The refusals of GoTrue that are about the session, see its `apierrors/errorcode.go`.
  private static let ends: Set = [
    "refresh_token_not_found", "refresh_token_already_used", "session_not_found", "session_expired", "user_banned",
    "user_not_found", "invalid_grant",
  ]

  let system: FormerSystem
  let transport: any Transport

  /// Asks the introspection endpoint (RFC 7662 section 2).
  func introspect(_ token: Secret, hint: String = "refresh_token") async throws(FormerError) -> FormerUser {
    let response = try await post(
      system.introspectionURL ?? "", [("token", token), ("token_type_hint", Secret(hint))])
    guard response.status == 200, let json = JSONValue(response.body), case .bool(let isActive)? = json["active"] else {
      throw unexpected(response, from: "introspection endpoint")
    }
    guard isActive else { throw .ended }
    if hint == "refresh_token" { try check(json) }
    return try user(in: json)
  }

  /// Makes sure that it is a refresh token of the app: an access token, or another client's token, allows less than a session here.
  private func check(_ json: JSONValue) throws(FormerError) {
    let apps = system.appIDs.isEmpty ? Set([system.clientID].compactMap(\.self)) : system.appIDs
    guard let client = json["client_id"]?.string, apps.contains(client) else {
      throw .unavailable("the introspected token is not named as one of the app's", retryAfter: nil)
    }
    let use = json["token_use"]?.string ?? json["typ"]?.string ?? json["token_type"]?.string ?? "refresh_token"
    // Keycloak's word for a refresh token of the scope `offline_access`.
    guard use.lowercased().contains("refresh") || use == "Offline" else {
      throw .unavailable("the introspected token is not a refresh token", retryAfter: nil)
    }
  }

  /// Refreshes a token (RFC 6749 section 6).
  func refresh(_ token: Secret) async throws(FormerError) -> FormerGrant {
    let response: TransportResponse
    if let base = system.goTrueURL {
      let body = JSONText([("refresh_token", token.withExposed { $0 })]).finished
      response = try await send(
        "POST", base + "/token?grant_type=refresh_token", type: "application/json", body: body, headers: apiKey)
    } else {
      response = try await post(
        system.tokenURL ?? "", [("grant_type", Secret("refresh_token")), ("refresh_token", token)])
    }
    let json = JSONValue(response.body)
    if response.status == 200 {
      guard let json, let access = json["access_token"]?.string, !access.isEmpty else {
        throw unexpected(response, from: "token endpoint")
      }
      let refresh = json["refresh_token"]?.string.map { Secret($0) } ?? token
      return FormerGrant(access: Secret(access), refresh: refresh, response: json)
    }
    let code = json?["error_code"]?.string ?? json?["error"]?.string ?? ""
    let isRefusal = system.goTrueURL == nil ? code == "invalid_grant" : FormerServer.ends.contains(code)
    // As a client of the server would read it: only a statement about the token ends anything.
    guard isRefusal, (400..<500).contains(response.status), StatusMeaning(response.status) != .passing else {
      throw unexpected(response, from: "token endpoint")
    }
    throw .ended
  }

  /// Returns whose tokens these are: as the userinfo or introspection endpoint says, or else as the response itself does. It came from the
  /// server over TLS, so its tokens need no other proof (OpenID Connect Core 1.0 section 3.1.3.7).
  func user(of grant: FormerGrant) async throws(FormerError) -> FormerUser {
    if system.goTrueURL != nil {
      guard let user = grant.response["user"], let id = user["id"]?.string else {
        throw .unavailable("the token response names no user", retryAfter: nil)
      }
      // The user's last sign-in may be another session's.
      let proofs = grant.access.withExposed { JSONValue(claimsOf: $0) }?["amr"]?.array?.compactMap {
        $0["timestamp"]?.integer
      }
      return FormerUser(subject: id, authenticatedAt: proofs?.max().map { UnixTime(seconds: $0) })
    }
    if let url = system.userInfoURL {
      let response = try await send("GET", url, headers: [.bearer(grant.access)])
      guard response.status == 200, let json = JSONValue(response.body) else {
        throw unexpected(response, from: "userinfo endpoint")
      }
      return try user(in: json)
    }
    if system.introspectionURL != nil { return try await introspect(grant.access, hint: "access_token") }
    for token in [grant.response["id_token"]?.string.map { Secret($0) }, grant.access].compactMap(\.self) {
      if let claims = token.withExposed({ JSONValue(claimsOf: $0) }) { return try user(in: claims) }
    }
    throw .unavailable("the token response names no user; set the introspection or userinfo endpoint", retryAfter: nil)
  }

  /// Ends a session there.
  ///
  /// - Throws: ``FormerError/ended`` if the access token is no longer good enough for that.
  func end(refresh: Secret, access: Secret?) async throws(FormerError) {
    let response: TransportResponse
    if let base = system.goTrueURL {
      guard let access else { throw .ended }
      response = try await send(
        "POST", base + "/logout?scope=local", headers: apiKey + [.bearer(access)])
      if [401, 403].contains(response.status) { throw .ended }
      // Already gone.
      if response.status == 404 { return }
    } else {
      response = try await post(
        system.revocationURL ?? "", [("token", refresh), ("token_type_hint", Secret("refresh_token"))])
    }
    guard (200..<300).contains(response.status) else { throw unexpected(response, from: "revocation endpoint") }
  }

  /// Reads the members of an introspection, a userinfo response or a token.
  private func user(in json: JSONValue) throws(FormerError) -> FormerUser {
    guard let subject = json[system.subject]?.string ?? json[system.subject]?.integer.map({ "\($0)" }),
      (1...255).contains(subject.utf8.count)
    else { throw .unavailable("the response has no member \(system.subject)", retryAfter: nil) }
    return FormerUser(subject: subject, authenticatedAt: json["auth_time"]?.integer.map { UnixTime(seconds: $0) })
  }

  private var apiKey: [HeaderField] {
    system.clientSecret.map { [HeaderField("apikey", $0.withExposed { $0 })] } ?? []
  }

  private func post(
    _ url: String, _ fields: [(String, Secret)]
  ) async throws(FormerError) -> TransportResponse {
    var (fields, headers) = (fields, [HeaderField]())
    if let id = system.clientID {
      if let secret = system.clientSecret {
        headers.append(.basic(id, secret))
      } else {
        fields.append(("client_id", Secret(id)))
      }
    }
    return try await send(
      "POST", url, type: "application/x-www-form-urlencoded", body: [UInt8](form: fields), headers: headers)
  }

  private func send(
    _ method: String, _ url: String, type: String? = nil, body: [UInt8] = [], headers: [HeaderField] = []
  ) async throws(FormerError) -> TransportResponse {
    let fields =
      [HeaderField("Accept", "application/json")] + headers
      + (type.map { [HeaderField("Content-Type", $0)] } ?? [])
    let request = TransportRequest(
      method: method, url: url, headers: fields, body: body, timeout: FormerServer.timeout,
      maximumResponseSize: 65_536)
    do throws(TransportError) { return try await transport.send(request) } catch {
      throw .unavailable("no answer: \(error)", retryAfter: nil)
    }
  }

  private func unexpected(_ response: TransportResponse, from place: String) -> FormerError {
    let code = JSONValue(response.body)?["error"]?.string?.prefix(60) ?? ""
    let isName = code.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") }
    let words = "the \(place) answered \(response.status)" + (isName && !code.isEmpty ? " \(code)" : "")
    return .unavailable(words, retryAfter: response.retryDelay().map { Int(clamping: $0.roundedUpSeconds) })
  }
}
#endif
