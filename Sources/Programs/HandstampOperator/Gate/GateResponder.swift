#if Operator && Verifier
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampServer
import HandstampSupport
import HandstampVerifier
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Answers a proxy's question whether to admit a request.
///
/// `/verify` is answered 200 with the identity in header fields, or with what the client shall get: 401, 403 or 503 with
/// problem+json. `?scope=` names the scopes that are needed, and may be repeated; `?acr_values=` and `?max_age=` say how and when the
/// user must have proved to be the owner (RFC 9470). They are in the proxy's configuration, out of the client's reach. `/health` tells
/// whether the keys are known, and the state of the feed. The metadata of the API as a resource (RFC 9728) is at its well-known path, for
/// the proxy to pass on.
struct GateResponder: Sendable {
  /// The longest original URI, in bytes.
  private static let longest = 16 << 10

  let verifier: TokenVerifier
  let publicURL: String
  let headers: GateSettings.Headers
  let passesPreflights: Bool

  @concurrent func respond(to request: Hummingbird.Request, _ logger: Logger) async -> Response {
    switch request.uri.path {
    case "/verify": await verify(request, logger)
    case "/health": health()
    case verifier.resourceMetadata?.path: metadata()
    default: .problem(.notFound, "not_found", "Not found")
    }
  }

  private func verify(_ request: Hummingbird.Request, _ logger: Logger) async -> Response {
    guard let path = only(headers.uri, request), let method = only(headers.method, request), path.hasPrefix("/"),
      path.utf8.count <= GateResponder.longest, !method.isEmpty
    else {
      logger.warning(
        "Proxy did not name the client's request",
        metadata: ["handstamp.headers": "\(headers.uri), \(headers.method)"])
      return .problem(
        .internalServerError, "internal", "The gate is not set up correctly",
        detail: "The proxy must send \(headers.uri) and \(headers.method).")
    }
    // A proxy replaces the gate's own fields. The service would take another one for the gate's.
    guard !request.headers.contains(where: { GateResponder.isReserved($0.name) }) else {
      return .problem(
        .forbidden, "field_reserved", "The request has a field of the gate's",
        detail: "Fields that begin with Handstamp are set by the gate alone.")
    }
    if passesPreflights, GateResponder.isPreflight(request, method) { return admission(nil) }
    guard let rule = GateResponder.rule(in: request) else {
      return .problem(
        .internalServerError, "internal", "The gate is not set up correctly",
        detail: "max_age in the address of /verify is not a number of seconds.")
    }
    let scopes = request.uri.queryParameters.getAll("scope").flatMap { $0.split(separator: " ").map(String.init) }
    let access = AccessRequest(
      method: method, url: publicURL + path, authorization: request.headers[values: .authorization],
      proofs: request.headers[values: .proof])
    do throws(AccessError) {
      return admission(try await verifier.authenticate(access, requiring: scopes, rule))
    } catch {
      logger.debug("Request refused", metadata: ["handstamp.cause": "\(error)"])
      let response = verifier.response(to: error, of: access, requiring: scopes)
      var fields = HTTPFields()
      for field in response.headers {
        if let name = HTTPField.Name(field.name) { fields.append(HTTPField(name: name, value: field.value)) }
      }
      return Response(
        status: .init(code: response.status), headers: fields,
        body: .init(byteBuffer: ByteBuffer(bytes: response.body)))
    }
  }

  /// Returns `nil` for a mistyped one, which must not admit more than is meant.
  private static func rule(in request: Hummingbird.Request) -> AuthenticationRule? {
    let query = request.uri.queryParameters
    let ages = query.getAll("max_age")
    let seconds = ages.compactMap { Int64($0) }.filter { (0...3_153_600_000).contains($0) }
    guard seconds.count == ages.count else { return nil }
    return AuthenticationRule(
      acr: query.getAll("acr_values").flatMap { $0.split(separator: " ").map(String.init) },
      maxAge: seconds.min().map { .seconds($0) })
  }

  /// The fields that say who the client is. docs/gate.md has them in the configuration of each proxy.
  static let fields: [HTTPField.Name] = [.subject, .session, .client, .scopes, .expires]

  private static func isReserved(_ name: HTTPField.Name) -> Bool {
    name.canonicalName.hasPrefix("handstamp") && !fields.contains(name)
  }

  /// All fields are there in any case, so that a proxy that copies them replaces what a client may have sent.
  ///
  /// - Parameter identity: `nil` leaves all of them empty.
  private func admission(_ identity: TokenIdentity?) -> Response {
    var fields: HTTPFields = [.cacheControl: "no-store"]
    // A program must not be taken for the user of that name.
    fields[.subject] = identity?.isMachine == true ? "" : GateResponder.escaped(identity?.subject ?? "")
    fields[.session] = GateResponder.escaped(identity?.sessionID ?? "")
    fields[.client] = GateResponder.escaped(identity?.clientID ?? "")
    fields[.scopes] = (identity?.scopes ?? []).map(GateResponder.escaped).joined(separator: " ")
    fields[.expires] = identity.map { String($0.expiresAt.seconds) } ?? ""
    return Response(status: .ok, headers: fields)
  }

  /// Whether a browser asks if a page of another origin may make a request (Fetch Standard section 3.2.2). It never has a token.
  private static func isPreflight(_ request: Hummingbird.Request, _ method: String) -> Bool {
    method == "OPTIONS" && request.headers[.origin] != nil && request.headers[.accessControlRequestMethod] != nil
  }

  private func metadata() -> Response {
    Response(
      status: .ok,
      headers: [
        .contentType: "application/json", .cacheControl: "public, max-age=300", .accessControlAllowOrigin: "*",
      ], body: .init(byteBuffer: ByteBuffer(bytes: verifier.resourceMetadata?.json ?? [])))
  }

  private func health() -> Response {
    let (hasKeys, feed) = (verifier.hasKeys, verifier.feedStatus)
    let status = !hasKeys ? "keys_missing" : feed?.isLive == false ? "feed_lost" : "ok"
    var body = JSONText([
      ("status", status), ("feed", feed.map { $0.isLive ? "live" : "lost" } ?? "off"),
      ("keys", hasKeys ? "known" : "missing"),
    ])
    if let feed {
      body.add("sessions", Int64(feed.sessions))
      body.add("complete_until", ifPresent: feed.completeUntil?.description)
      if !feed.isLive { body.add("cause", ifPresent: feed.lastError) }
    }
    return .json(body, status: status == "ok" ? .ok : .serviceUnavailable)
  }

  /// The value of a field that must be there once.
  private func only(_ name: String, _ request: Hummingbird.Request) -> String? {
    guard let name = HTTPField.Name(name), case let values = request.headers[values: name], values.count == 1 else {
      return nil
    }
    return values[0]
  }

  /// Visible ASCII stays, except `%`; everything else is percent-encoded (RFC 3986 section 2.1).
  static func escaped(_ text: String) -> String {
    var escaped: [UInt8] = []
    for byte in text.utf8 {
      if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "%") {
        escaped.append(byte)
      } else {
        PercentEncoding.escape(byte, into: &escaped)
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }
}

extension HTTPField.Name {
  fileprivate static let proof = Self("DPoP")!
  fileprivate static let subject = Self("Handstamp-Subject")!
  fileprivate static let session = Self("Handstamp-Session")!
  fileprivate static let client = Self("Handstamp-Client")!
  fileprivate static let scopes = Self("Handstamp-Scope")!
  fileprivate static let expires = Self("Handstamp-Expires")!
}
#endif
