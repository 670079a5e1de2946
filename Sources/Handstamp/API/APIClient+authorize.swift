/// One attempt of a call: token, request, and on a 401 once more.
extension APIClient {
  /// Why an attempt brought no answer.
  enum AttemptFailure: Error {
    /// The request itself had no answer; another attempt may have one.
    case transport(TransportError)
    /// The session's matter, or the caller's.
    case final(APIError)

    var asAPIError: APIError {
      switch self {
      case .transport(let error): .unreachable(error)
      case .final(let error): error
      }
    }
  }

  func attempt(
    _ request: TransportRequest, requiresAuth: Bool, in generation: UInt64
  ) async throws(AttemptFailure) -> TransportResponse {
    guard requiresAuth else {
      do throws(TransportError) { return try await transport.send(request) } catch { throw .transport(error) }
    }
    let token = try await token { () async throws(SessionError) in try await controller.token() }
    let response = try await asked(request, with: token, in: generation)
    guard response.status == 401 else { return response }
    let newer: AccessToken
    do throws(AttemptFailure) {
      newer = try await self.token { () async throws(SessionError) in try await controller.token(insteadOf: token) }
    } catch {
      // Too young to be replaced, and refused: perhaps the session ended in these seconds.
      if case .final(.unauthorized(.tokenRefused)) = error { try await end(if: response, to: request, in: generation) }
      throw error
    }
    let second = try await asked(request, with: newer, in: generation)
    guard second.status == 401 else { return second }
    try await end(if: second, to: request, in: generation)
    throw .final(.unauthorized(.tokenRefused))
  }

  private func asked(
    _ request: TransportRequest, with token: AccessToken, in generation: UInt64
  ) async throws(AttemptFailure) -> TransportResponse {
    let response = try await fenced(try await authorized(request, by: token, in: generation), in: generation)
    try await heed(response, to: request, sent: token, in: generation)
    return response
  }

  private func end(
    if response: TransportResponse, to request: TransportRequest, in generation: UInt64
  ) async throws(AttemptFailure) {
    do throws(APIError) { try await endIfToldSo(by: response, to: request, in: generation) } catch {
      throw .final(error)
    }
  }

  private func token(
    _ get: () async throws(SessionError) -> AccessToken
  ) async throws(AttemptFailure) -> AccessToken {
    do throws(SessionError) { return try await get() } catch {
      // The session has asked often enough itself, and remembers.
      if case .unreachable = error { throw .final(.unreachable(.unreachable("no answer"))) }
      throw .final(.unauthorized(error))
    }
  }

  private func fenced(
    _ request: TransportRequest, in generation: UInt64
  ) async throws(AttemptFailure) -> TransportResponse {
    do throws(RequestFence.RequestFailure) {
      return try await controller.requests.run(in: generation) { [transport] () async throws(TransportError) in
        try await transport.send(request)
      }
    } catch {
      switch error {
      case .transport(let error): throw .transport(error)
      case .signedOut: throw .final(signedOut)
      }
    }
  }

  /// Why a request that the fence stopped has no answer.
  var signedOut: APIError {
    if case .signedOut(let reason) = controller.state { return .unauthorized(.signedOut(reason)) }
    return .unauthorized(.signedOut(.replaced))
  }
}
