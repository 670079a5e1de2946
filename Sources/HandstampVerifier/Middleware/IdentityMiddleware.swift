#if Middleware
import HandstampCore
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
/// ```swift
/// router.group("api").add(middleware: IdentityMiddleware(verifier, at: "https://api.example.org", requiring: ["read"]))
/// ```
public struct IdentityMiddleware<Context: IdentityRequestContext>: RouterMiddleware {
  private let verifier: TokenVerifier
  private let address: String
  private let scopes: [String]

  /// - Parameters:
  ///   - address: the public address of the server, without the path of a request and without a trailing slash. Proofs of
  ///     possession name it; the `Host` field, which a client can choose, is not consulted.
  ///   - scopes: the scopes that a token must have been granted, all of them.
  public init(_ verifier: TokenVerifier, at address: String, requiring scopes: [String] = []) {
    self.verifier = verifier
    self.address = address
    self.scopes = scopes
  }

  public func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var context = context
    do throws(RefusedRequest) {
      context.identity = try await verifier.authenticate(AccessRequest(request, at: address), requiring: scopes)
    } catch {
      context.logger.debug("Request refused", metadata: ["handstamp.cause": "\(error.cause)"])
      return Response(error.answer)
    }
    return try await next(request, context)
  }
}

/// Admits only identities with these scopes, behind an ``IdentityMiddleware``.
public struct ScopeMiddleware<Context: IdentityRequestContext>: RouterMiddleware {
  private let scopes: [String]

  public init(_ scopes: String...) { self.scopes = scopes }

  public func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let identity = context.identity else { return Response(AccessRefusal.tokenMissing.answer) }
    guard identity.has(scopes: scopes) else {
      let scheme: TokenScheme = identity.keyThumbprint == nil ? .bearer : .dpop
      return Response(AccessRefusal.insufficientScope(scopes).answer(to: scheme))
    }
    return try await next(request, context)
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
  /// The response to a request that a verifier has refused.
  public init(_ answer: RefusalAnswer) {
    var headers = HTTPFields()
    for field in answer.headers {
      if let name = HTTPField.Name(field.name) { headers.append(HTTPField(name: name, value: field.value)) }
    }
    self.init(
      status: HTTPResponse.Status(code: answer.status), headers: headers,
      body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
  }
}
#endif
