/// One attempt of a call: credential, request, and one repetition after a 401.
extension APIClient {
  func attempt(
    _ request: TransportRequest, requiresAuth: Bool, in generation: UInt64
  ) async throws(APIError) -> TransportResponse {
    guard requiresAuth else { return try await sent(request) }
    let credential = try await credential(replacing: nil)
    let response = try await sent(request, with: credential, in: generation)
    guard response.status == 401 else { return response }
    let newer: Credential
    do throws(APIError) { newer = try await self.credential(replacing: credential) } catch {
      // Too young to be replaced, and rejected: the session may have ended in these seconds.
      if case .session(.tokenRejected) = error {
        try await endSessionIfReported(by: response, to: request, in: generation)
      }
      throw error
    }
    let second = try await sent(request, with: newer, in: generation)
    guard second.status == 401 else { return second }
    try await endSessionIfReported(by: second, to: request, in: generation)
    throw .session(.tokenRejected)
  }

  private func credential(replacing refused: Credential?) async throws(APIError) -> Credential {
    do throws(SessionError) {
      if let refused { return try await controller.credential(replacing: refused) }
      return try await controller.credential()
    } catch {
      throw .session(error)
    }
  }

  private func sent(
    _ request: TransportRequest, with credential: Credential, in generation: UInt64
  ) async throws(APIError) -> TransportResponse {
    let ready = try await authorized(request, by: credential, in: generation)
    let response = try await controller.requests.run(in: generation) { () async throws(APIError) in
      try await sent(ready)
    }
    guard let response else { throw .session(controller.fenceError) }
    try await inspect(response, to: request, sent: credential, in: generation)
    return response
  }

  private func sent(_ request: TransportRequest) async throws(APIError) -> TransportResponse {
    do throws(TransportError) { return try await transport.send(request) } catch { throw .network(error) }
  }
}
