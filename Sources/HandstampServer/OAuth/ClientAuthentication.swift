#if Server
import Foundation
import HandstampCore
import HTTPTypes
import Hummingbird

extension SessionServer {
  /// The client that sends a request to an OAuth endpoint.
  enum Caller: Sendable {
    /// The server's own app, which does not need to identify itself.
    case own
    case client(ConfiguredClient)

    var client: ConfiguredClient? { if case .client(let client) = self { client } else { nil } }
  }

  /// Returns the form and the caller of a request, or the error response.
  func call(_ request: Request) async throws -> Result<(form: FormBody, caller: Caller), OAuthRefusal> {
    switch try await form(of: request) {
    case .success(let form): caller(of: request, form).map { (form, $0) }
    case .failure(let refusal): .failure(refusal)
    }
  }

  /// Returns the client that sends `form` (RFC 6749 section 2.3): a confidential client sends its secret, by one method; a
  /// public client sends only its ID.
  func caller(of request: Request, _ form: FormBody) -> Result<Caller, OAuthRefusal> {
    let refused = OAuthRefusal(SessionServer.unknownClient)
    if let field = request.headers[.authorization], field.lowercased().hasPrefix("basic ") {
      guard form["client_secret"] == nil else {
        let description = "use only one client authentication method"
        return .failure(OAuthRefusal(OAuthAnswer.refusal("invalid_request", description: description)))
      }
      guard let (id, secret) = SessionServer.basic(field), form["client_id"].map({ $0 == id }) ?? true else {
        return .failure(refused)
      }
      // Some libraries can identify a public client only this way.
      if secret == nil, id == configuration.clientID { return .success(.own) }
      guard let client = clients[id], secret.map(client.has) ?? (client.secretHash == nil) else {
        return .failure(refused)
      }
      return .success(.client(client))
    }
    guard let id = form["client_id"], id != configuration.clientID else {
      return form["client_secret"] == nil ? .success(.own) : .failure(refused)
    }
    guard let client = clients[id] else { return .failure(refused) }
    if client.secretHash != nil {
      guard let secret = form["client_secret"], client.has(Secret(secret)) else { return .failure(refused) }
    } else if form["client_secret"] != nil {
      return .failure(refused)
    }
    return .success(.client(client))
  }

  /// Does not reveal whether the ID or the secret is wrong.
  private static let unknownClient: Response = {
    var response = OAuthAnswer.refusal("invalid_client", status: .unauthorized)
    response.headers[.wwwAuthenticate] = "Basic realm=\"oauth\""
    return response
  }()

  /// Parses basic credentials, whose parts are form-encoded (RFC 6749 section 2.3.1). An empty secret is `nil`.
  private static func basic(_ field: String) -> (id: String, secret: Secret?)? {
    guard let data = Data(base64Encoded: field.dropFirst("basic ".count).trimmingCharacters(in: .whitespaces)),
      let colon = data.firstIndex(of: UInt8(ascii: ":")),
      let fields = try? FormBody(
        Array("id=".utf8) + data[..<colon] + Array("&secret=".utf8) + data[data.index(after: colon)...]),
      let id = fields["id"]
    else { return nil }
    return (id, fields["secret"].map { Secret($0) })
  }
}

/// An error response of RFC 6749 section 5.2, as an error.
struct OAuthRefusal: Error {
  var response: Response
  init(_ response: Response) { self.response = response }
}
#endif
