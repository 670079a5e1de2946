#if Server
import HandstampSupport
import Hummingbird

/// Public documents: metadata, the key set, the operator's configuration for apps, whether the server works.
struct DocumentsController: Sendable {
  let limits: RequestLimits
  let readiness: Readiness
  /// The server's own API as a resource; `nil` for an issuer without TLS that is not on this machine.
  let resource: ResourceDocument?
  let associations: AppAssociations
  /// The paths of the OpenAPI document.
  let paths: Set<String>
  private let openAPI: OpenAPIDocument
  /// The OpenAPI document; `nil` until a client asks for it.
  private let composed = Locked<FixedDocument?>(nil)
  /// Those at the root of the router, and those below the mount path.
  private let roots, documents: [(String, FixedDocument)]

  init(
    _ configuration: ServerConfiguration, _ keys: SigningKeys, _ limits: RequestLimits, _ readiness: Readiness
  ) throws {
    (self.limits, self.readiness) = (limits, readiness)
    openAPI = try OpenAPIDocument(for: configuration)
    paths = Set(openAPI.operations.map(\.path))
    resource = ResourceDocument(configuration)
    associations = try AppAssociations(configuration, routes: paths)
    let metadata = FixedDocument(metadataOf: configuration, algorithms: keys.algorithms)
    var roots = [(FixedDocument.metadataPath(of: configuration.issuer), metadata)]
    if let resource { roots.append((resource.path, FixedDocument(resource))) }
    if let apple = associations.apple { roots.append((AssociationFile.applePath, apple)) }
    if let android = associations.android { roots.append((AssociationFile.androidPath, android)) }
    self.roots = roots
    documents = [
      ("/v1/app-config", try FixedDocument(appConfig: configuration.appConfig)),
      // Unlike the metadata of RFC 8414 (OpenID Connect Discovery 1.0 section 4).
      ("/.well-known/openid-configuration", metadata),
      (
        "/.well-known/jwks.json",
        FixedDocument(keys.publicSet, cacheControl: "public, max-age=300", isForAllOrigins: true)
      ),
    ]
  }

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, root: some RouterMethods<Context>
  ) {
    for (path, document) in roots { root.get(RouterPath(path)) { request, _ in document.response(to: request) } }
    for (path, document) in documents { routes.get(RouterPath(path)) { request, _ in document.response(to: request) } }
    routes.get("/openapi.json") { request, _ in try openAPIDocument().response(to: request) }
    readiness.addRoutes(to: routes)
    routes.get("/v1/client-address", use: clientAddress)
  }

  private func openAPIDocument() throws -> FixedDocument {
    if let known = composed.withLock({ $0 }) { return known }
    let document = FixedDocument(try openAPI.bytes(), cacheControl: "public, max-age=300")
    composed.withLock { $0 = document }
    return document
  }

  /// `GET /v1/client-address`: the address that the request's limits count by, and whether a proxy named it, so that an operator
  /// can check the set-up of a proxy.
  @concurrent func clientAddress(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let client = limits.client(of: request, context)
    var json = JSONText()
    json.add("address", ifPresent: client.address.map { "\($0)" })
    json.add("network", ifPresent: client.address.map { "\($0.network)" })
    json.add("source", client.source.rawValue)
    return .json(json)
  }
}
#endif
