#if Verifier
import HandstampCore
import HandstampSupport
import HTTPTypes
public import Hummingbird
import Logging
import NIOCore

/// A request context that holds whose request it is. Hummingbird's requests have no room for values of others, so the identity is
/// in the context, as `context.identity`.
public protocol IdentityRequestContext: RequestContext {
  /// The identity of the request; `nil` unless an ``IdentityMiddleware`` has admitted it.
  var identity: TokenIdentity? { get set }
}

/// The context of one request, for apps that need no more.
public struct BasicIdentityContext: IdentityRequestContext {
  public var coreContext: CoreRequestContextStorage
  public var identity: TokenIdentity?

  public init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }
}

/// Admits only requests with a valid access token, and sets ``IdentityRequestContext/identity``. Others are answered 401, 403, or 503
/// if it cannot be known, as problem+json (RFC 9457) with the challenges of RFC 6750 section 3 and RFC 9449 section 7.1.
///
/// A response without a length, such as a stream of events, ends with its session, and at the latest with its token: its task is
/// cancelled, what it still writes is dropped, and the connection is closed. A WebSocket is the route's own to close, see
/// ``TokenVerifier/waitForEnd(of:)``.
///
/// A route that finds out later which scopes it needs throws ``AccessError/insufficientScope(_:)`` with all of them: the response is
/// then the same, and the client asks its user for more.
///
/// ```swift
/// router.group("api").add(middleware: IdentityMiddleware(verifier, at: "https://api.example.org", requiring: ["read"]))
/// ```
public struct IdentityMiddleware<Context: IdentityRequestContext>: RouterMiddleware {
  private let verifier: TokenVerifier
  private let address: String
  private let scopes: [String]
  private let rule: AuthenticationRule

  /// - Parameters:
  ///   - address: the public address of the server, without the path of a request and without a trailing slash. Proofs of
  ///     possession name it; the `Host` field, which a client can choose, is not consulted.
  ///   - scopes: the scopes that a token must have been granted, all of them.
  ///   - rule: how and when its user must have proved to be the account's owner.
  public init(
    _ verifier: TokenVerifier, at address: String, requiring scopes: [String] = [], _ rule: AuthenticationRule = .any
  ) {
    self.rule = rule
    self.verifier = verifier
    self.address = address
    self.scopes = scopes
  }

  public func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var context = context
    let access = AccessRequest(request, at: address)
    do {
      let identity = try await verifier.authenticate(access, requiring: scopes, rule)
      context.identity = identity
      var response = try await next(request, context)
      if response.body.contentLength == nil {
        response.body = response.body.ending { [verifier] in await verifier.waitForEnd(of: identity) }
      }
      return response
    } catch let error as AccessError {
      context.logger.debug("Request refused", metadata: ["handstamp.cause": "\(error)"])
      return Response(verifier.response(to: error, of: access, requiring: scopes))
    }
  }
}

extension ResponseBody {
  /// A body that is written only until `end` returns a reason.
  fileprivate func ending(with end: @escaping @Sendable () async -> AccessError?) -> ResponseBody {
    let isOver = Locked(false)
    let body = map { buffer in
      guard !isOver.withLock({ $0 }) else { throw AccessError.sessionEnded }
      return buffer
    }
    return ResponseBody { writer in
      let handed = HandedWriter(writer: writer)
      let reason = try await withThrowingTaskGroup(of: AccessError?.self) { group in
        group.addTask { @concurrent in
          try await body.write(handed.writer)
          return nil
        }
        group.addTask {
          let reason = await end()
          if reason != nil { isOver.withLock { $0 = true } }
          return reason
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
      }
      // Only a closed connection says that a response is not complete.
      if let reason { throw reason }
    }
  }
}

// One task writes, and the one that it comes from waits for that.
private struct HandedWriter: @unchecked Sendable {
  let writer: any ResponseBodyWriter
}

/// Admits only identities with these scopes, behind an ``IdentityMiddleware``.
public struct ScopeMiddleware<Context: IdentityRequestContext>: RouterMiddleware {
  private let scopes: [String]

  public init(_ scopes: String...) { self.scopes = scopes }

  public func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let identity = context.identity else { return Response(AccessError.tokenMissing.response()) }
    // For the middleware before, which knows the resource.
    guard identity.has(scopes: scopes) else { throw AccessError.insufficientScope(scopes) }
    return try await next(request, context)
  }
}

/// Admits only identities whose user has proved it as the rule says, behind an ``IdentityMiddleware``, which answers the others with
/// the challenge of RFC 9470.
public struct AuthenticationMiddleware<Context: IdentityRequestContext>: RouterMiddleware {
  private let verifier: TokenVerifier
  private let rule: AuthenticationRule

  public init(_ verifier: TokenVerifier, _ rule: AuthenticationRule) {
    self.verifier = verifier
    self.rule = rule
  }

  public func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let identity = context.identity else { return Response(AccessError.tokenMissing.response()) }
    try verifier.require(rule, of: identity)
    return try await next(request, context)
  }
}

/// Serves ``TokenVerifier/resourceMetadata`` to every caller, also to pages of other origins.
///
/// Add it to the router itself, before any ``IdentityMiddleware``: `router.add(middleware: ResourceMetadataMiddleware(verifier))`.
public struct ResourceMetadataMiddleware<Context: RequestContext>: RouterMiddleware {
  private let metadata: ResourceMetadata?

  public init(_ verifier: TokenVerifier) { metadata = verifier.resourceMetadata }

  public func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let metadata, request.uri.path == metadata.path, [.get, .head].contains(request.method) else {
      return try await next(request, context)
    }
    let response = Response(metadata)
    return request.method == .head ? response.createHeadResponse() : response
  }
}

extension AccessRequest {
  /// - Parameter address: the public address of the server, without the path.
  public init(_ request: Request, at address: String) {
    self.init(
      method: request.method.rawValue, url: address + request.uri.path,
      authorization: request.headers[values: .authorization],
      proofs: HTTPField.Name("DPoP").map { request.headers[values: $0] } ?? [])
  }
}

extension Response {
  /// The response with the metadata of an API.
  fileprivate init(_ metadata: ResourceMetadata) {
    self.init(
      status: .ok,
      headers: [
        .contentType: "application/json", .cacheControl: "public, max-age=300", .accessControlAllowOrigin: "*",
      ], body: .init(byteBuffer: ByteBuffer(bytes: metadata.json)))
  }

  /// The response to a request that a verifier has refused.
  public init(_ response: RefusalResponse) {
    var headers = HTTPFields()
    for field in response.headers {
      if let name = HTTPField.Name(field.name) { headers.append(HTTPField(name: name, value: field.value)) }
    }
    self.init(
      status: HTTPResponse.Status(code: response.status), headers: headers,
      body: .init(byteBuffer: ByteBuffer(bytes: response.body)))
  }
}
#endif
