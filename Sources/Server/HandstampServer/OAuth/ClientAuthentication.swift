#if Server
import Foundation
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

/// Reads the form of a request to an OAuth endpoint and authenticates its client (RFC 6749 section 2.3).
struct ClientAuthentication: Sendable {
  let clients: ClientDirectory
  let limits: RequestLimits
  /// Remembers used assertions, for all servers on the store.
  let registry: Registry
  let clock: ServerClock
  /// Those of assertions. The issuer alone is best; older libraries name the endpoint (RFC 7523 section 3).
  let audiences: [String]

  /// Returns the form, and its client; `nil` is the server's own app, which does not need to identify itself.
  ///
  /// - Throws: ``ProblemError`` or an ``OAuthError`` for a body that is not a form, ``OAuthError/invalidClient`` for a client that
  ///   is not known or sends a wrong secret or assertion, ``RegistryError`` if it cannot be known whether an assertion was used.
  func call(
    _ request: Request, _ context: some SessionRequestContext
  ) async throws -> (form: FormFields, client: ConfiguredClient?) {
    let form = try await form(of: request)
    return (form, try await client(of: request, form, context))
  }

  /// - Throws: ``ProblemError`` or an ``OAuthError`` for a body that is not a form.
  func form(of request: Request) async throws -> FormFields {
    let body = try await request.wholeBody(of: "application/x-www-form-urlencoded", upTo: limits.bodySize)
    return try FormFields(body.readableBytesView)
  }

  /// Returns the client that sends `form`, as the function above does.
  func client(
    of request: Request, _ form: FormFields, _ context: some SessionRequestContext
  ) async throws -> ConfiguredClient? {
    do {
      return try await assertingClient(of: request, form) ?? client(of: request, form)
    } catch let error as OAuthError {
      try limits.take(.clientFailures, from: limits.client(of: request, context))
      throw error
    } catch let defect as AssertionDefect {
      try limits.take(.clientFailures, from: limits.client(of: request, context))
      context.logger.notice("Client assertion refused", metadata: ["handstamp.cause": "\(defect.rawValue)"])
      throw OAuthError.invalidClient.describing("the client assertion is not valid")
    }
  }

  /// Returns the ID by which a request names a client that is not known; `nil` for other requests. Nothing proves the ID.
  func unknownClient(of request: Request, _ form: FormFields) -> String? {
    let field = request.headers[.authorization].flatMap { $0.lowercased().hasPrefix("basic ") ? $0 : nil }
    let id =
      field.flatMap { ClientAuthentication.basic($0)?.id } ?? form["client_id"]
      ?? form["client_assertion"].flatMap { ClientAssertion($0)?.subject }
    return id.flatMap { clients.knows($0) ? nil : $0 }
  }

  /// Returns the client that authenticates itself with an assertion (RFC 7521 section 4.2); `nil` for a request without one. Each
  /// assertion counts once.
  private func assertingClient(of request: Request, _ form: FormFields) async throws -> ConfiguredClient? {
    let (type, text) = (form["client_assertion_type"], form["client_assertion"])
    guard type != nil || text != nil else { return nil }
    guard type == ClientAssertion.type, let text else {
      throw OAuthError.invalidRequest("client_assertion or its type is missing, or the type is unknown")
    }
    guard request.headers[.authorization] == nil, form["client_secret"] == nil else {
      throw OAuthError.invalidRequest("use only one client authentication method")
    }
    guard let assertion = ClientAssertion(text) else { throw AssertionDefect.malformed }
    guard form["client_id"].map({ $0 == assertion.subject }) ?? true, let client = clients.configured(assertion.subject)
    else { throw AssertionDefect.issuer }
    let used = try assertion.verify(by: client, for: audiences, at: clock.read())
    do throws(RegistryError) { try await registry.use(used) } catch {
      guard case .nonceUsed = error else { throw error }
      throw AssertionDefect.replayed
    }
    return client
  }

  /// Returns the confidential client whose credentials are in the `Authorization` field, for requests without a form.
  func confidentialClient(
    _ request: Request, _ context: some SessionRequestContext
  ) throws -> ConfiguredClient {
    if let field = request.headers[.authorization], field.lowercased().hasPrefix("basic "),
      let (id, secret) = ClientAuthentication.basic(field), let secret, let client = clients[id], client.has(secret)
    {
      return client
    }
    try limits.take(.clientFailures, from: limits.client(of: request, context))
    throw ProblemError.invalidClient
  }

  /// Returns the client that sends `form` without an assertion: a confidential client sends its secret, by one method; a public client
  /// sends only its ID.
  private func client(of request: Request, _ form: FormFields) throws(OAuthError) -> ConfiguredClient? {
    if let field = request.headers[.authorization], field.lowercased().hasPrefix("basic ") {
      guard let (id, secret) = ClientAuthentication.basic(field), form["client_id"].map({ $0 == id }) ?? true else {
        throw .invalidClient
      }
      // Some libraries send the same secret in both ways.
      guard form["client_secret"].map({ Secret($0) == secret }) ?? true else {
        throw .invalidRequest("use only one client authentication method")
      }
      // Some libraries can identify a public client only this way.
      if secret == nil, id == clients.ownID { return nil }
      guard let client = clients[id], secret.map(client.has) ?? !client.isConfidential else { throw .invalidClient }
      return client
    }
    guard let id = form["client_id"], id != clients.ownID else {
      guard form["client_secret"] == nil else { throw .invalidClient }
      return nil
    }
    guard let client = clients[id] else { throw .invalidClient }
    if client.isConfidential {
      guard let secret = form["client_secret"], client.has(Secret(secret)) else { throw .invalidClient }
    } else if form["client_secret"] != nil {
      throw .invalidClient
    }
    return client
  }

  /// Parses basic credentials, whose parts are form-encoded (RFC 6749 section 2.3.1). An empty secret is `nil`.
  private static func basic(_ field: String) -> (id: String, secret: Secret?)? {
    guard let data = Data(base64Encoded: field.dropFirst("basic ".count).trimmingCharacters(in: .whitespaces)),
      let colon = data.firstIndex(of: UInt8(ascii: ":")),
      let fields = try? FormFields(
        Array("id=".utf8) + data[..<colon] + Array("&secret=".utf8) + data[data.index(after: colon)...]),
      let id = fields["id"]
    else { return nil }
    return (id, fields["secret"].map { Secret($0) })
  }
}
#endif
