#if Server
import Foundation
import HandstampCore
import HTTPTypes
import Hummingbird

extension SessionServer {
  /// Who sends a request to an OAuth endpoint.
  enum Caller: Sendable {
    /// The server's own app, which needs not say so.
    case own
    case client(ConfiguredClient)

    var client: ConfiguredClient? { if case .client(let client) = self { client } else { nil } }
  }

  /// What was sent, and by whom; or the answer that says why neither counts.
  func call(_ request: Request) async throws -> Result<(form: FormBody, caller: Caller), OAuthRefusal> {
    switch try await form(of: request) {
    case .success(let form): caller(of: request, form).map { (form, $0) }
    case .failure(let refusal): .failure(refusal)
    }
  }

  /// Who sends `form` (RFC 6749 section 2.3): a confidential client shows its secret, in one way; the others name themselves.
  func caller(of request: Request, _ form: FormBody) -> Result<Caller, OAuthRefusal> {
    let refused = OAuthRefusal(SessionServer.unknownClient)
    if let field = request.headers[.authorization], field.lowercased().hasPrefix("basic ") {
      guard form["client_secret"] == nil else {
        return .failure(OAuthRefusal(OAuthAnswer.refusal("invalid_request", description: "two ways to authenticate")))
      }
      guard let (id, secret) = SessionServer.basic(field), form["client_id"].map({ $0 == id }) ?? true else {
        return .failure(refused)
      }
      // A public client's way to name itself: some libraries know no other.
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

  /// Which of the two is wrong is not told.
  private static let unknownClient: Response = {
    var response = OAuthAnswer.refusal("invalid_client", status: .unauthorized)
    response.headers[.wwwAuthenticate] = "Basic realm=\"oauth\""
    return response
  }()

  /// Both parts are form-encoded before they are put together (RFC 6749 section 2.3.1). An empty secret is `nil`.
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

/// An answer of RFC 6749 section 5.2, on its way out.
struct OAuthRefusal: Error {
  var response: Response
  init(_ response: Response) { self.response = response }
}
#endif
