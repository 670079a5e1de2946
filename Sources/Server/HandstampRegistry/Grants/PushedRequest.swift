public import HandstampCore

/// An authorization request that a client has sent to the server itself, so that the user's browser carries only a reference to it
/// (RFC 9126).
public struct PushedRequest: Sendable, Hashable {
  /// How long the reference may be used, and so how long the user may take.
  public static let life = Duration.seconds(600)

  /// The client that sent it.
  public let client: String
  /// Its parameters, form-encoded.
  public let parameters: String
  let id: OneTimeTokenID
}

extension Registry {
  /// Stores a client's request.
  ///
  /// - Returns: the secret part of its reference.
  public func push(
    parameters: String, of client: String, now: UnixTime
  ) async throws(RegistryError) -> OneTimeToken {
    try await issue(.pushedRequest, subject: client, payload: parameters, lasting: PushedRequest.life, now: now)
  }

  /// Returns the request behind a reference; `nil` if it is unknown, has expired, or a code was issued for it.
  public func pushedRequest(_ presented: Secret, now: UnixTime) async throws(RegistryError) -> PushedRequest? {
    guard let token = OneTimeToken(presented: presented),
      let record = try await liveOneTimeToken(OneTimeTokenID(of: token.secret, purpose: .pushedRequest), now: now)
    else { return nil }
    return PushedRequest(client: record.subject, parameters: record.payload, id: record.id)
  }
}
