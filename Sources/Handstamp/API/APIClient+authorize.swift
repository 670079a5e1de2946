/// One attempt of a call: credential, request, and one repetition after a 401.
extension APIClient {
  /// Why an attempt has no response.
  enum AttemptFailure: Error {
    /// The request itself failed; another attempt may succeed.
    case transport(TransportError)
    /// The session or the caller prevents further attempts.
    case final(APIError)

    var asAPIError: APIError {
      switch self {
      case .transport(let error): .network(error)
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
    let credential = try await credential { () async throws(SessionError) in try await controller.credential() }
    let response = try await asked(request, with: credential, in: generation)
    guard response.status == 401 else { return response }
    let newer: Credential
    do throws(AttemptFailure) {
      newer = try await self.credential { () async throws(SessionError) in
        try await controller.credential(replacing: credential)
      }
    } catch {
      // Too young to be replaced, and rejected: the session may have ended in these seconds.
      if case .final(.session(.tokenRejected)) = error { try await end(if: response, to: request, in: generation) }
      throw error
    }
    let second = try await asked(request, with: newer, in: generation)
    guard second.status == 401 else { return second }
    try await end(if: second, to: request, in: generation)
    throw .final(.session(.tokenRejected))
  }

  private func asked(
    _ request: TransportRequest, with credential: Credential, in generation: UInt64
  ) async throws(AttemptFailure) -> TransportResponse {
    let response = try await fenced(try await authorized(request, by: credential, in: generation), in: generation)
    try await inspect(response, to: request, sent: credential, in: generation)
    return response
  }

  private func end(
    if response: TransportResponse, to request: TransportRequest, in generation: UInt64
  ) async throws(AttemptFailure) {
    do throws(APIError) { try await endIfToldSo(by: response, to: request, in: generation) } catch {
      throw .final(error)
    }
  }

  private func credential(
    _ get: () async throws(SessionError) -> Credential
  ) async throws(AttemptFailure) -> Credential {
    do throws(SessionError) { return try await get() } catch {
      throw .final(.session(error))
    }
  }

  private func fenced(
    _ request: TransportRequest, in generation: UInt64
  ) async throws(AttemptFailure) -> TransportResponse {
    do throws(RequestFence.FenceFailure) {
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

  /// The error of a request that the fence stopped.
  var signedOut: APIError {
    if case .signedOut(let reason) = controller.state { return .session(.signedOut(reason)) }
    return .session(.signedOut(.replaced))
  }
}
