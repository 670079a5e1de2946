#if Server
import Foundation
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird

/// The client that sends a request to an OAuth endpoint.
enum ClientCaller: Sendable {
  /// The server's own app, which does not need to identify itself.
  case own
  case client(ConfiguredClient)

  var client: ConfiguredClient? { if case .client(let client) = self { client } else { nil } }

  /// The client's data that the registry needs to refresh its session.
  ///
  /// - Parameter life: how long access tokens are valid. The overlap is at most half of that: a client refreshes once per access
  ///   token, so a longer overlap would reach back to the refresh before.
  func terms(accessTokenLife life: Duration) -> RefreshTerms {
    RefreshTerms(
      isConstrained: client?.secretHash != nil, overlap: min(client?.refreshOverlap ?? RefreshTerms.overlap, life / 2))
  }
}

/// Reads the form of a request to an OAuth endpoint and authenticates its client (RFC 6749 section 2.3).
struct ClientAuthentication: Sendable {
  let clients: ClientDirectory
  let limits: RequestLimits
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  /// - Throws: ``ProblemError`` or an ``OAuthError`` for a body that is not a form, ``OAuthError/invalidClient`` for a client that
  ///   is not known or sends a wrong secret.
  func call(
    _ request: Request, _ context: some SessionRequestContext
  ) async throws -> (form: FormFields, caller: ClientCaller) {
    let body = try await request.wholeBody(of: "application/x-www-form-urlencoded", upTo: bodyLimit)
    let form = try FormFields(body.readableBytesView)
    do throws(OAuthError) { return (form, try caller(of: request, form)) } catch {
      try limits.take(.clientFailures, from: limits.client(of: request, context))
      throw error
    }
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

  /// Returns the client that sends `form`: a confidential client sends its secret, by one method; a public client sends only
  /// its ID.
  private func caller(of request: Request, _ form: FormFields) throws(OAuthError) -> ClientCaller {
    if let field = request.headers[.authorization], field.lowercased().hasPrefix("basic ") {
      guard let (id, secret) = ClientAuthentication.basic(field), form["client_id"].map({ $0 == id }) ?? true else {
        throw .invalidClient
      }
      // Some libraries send the same secret in both ways.
      guard form["client_secret"].map({ Secret($0) == secret }) ?? true else {
        throw .invalidRequest("use only one client authentication method")
      }
      // Some libraries can identify a public client only this way.
      if secret == nil, id == clients.ownID { return .own }
      guard let client = clients[id], secret.map(client.has) ?? (client.secretHash == nil) else { throw .invalidClient }
      return .client(client)
    }
    guard let id = form["client_id"], id != clients.ownID else {
      guard form["client_secret"] == nil else { throw .invalidClient }
      return .own
    }
    guard let client = clients[id] else { throw .invalidClient }
    if client.secretHash != nil {
      guard let secret = form["client_secret"], client.has(Secret(secret)) else { throw .invalidClient }
    } else if form["client_secret"] != nil {
      throw .invalidClient
    }
    return .client(client)
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
