import HandstampCore
import HandstampSupport

/// One attempt of a call: credential, request, and one repetition after a 401.
extension APIClient {
  func attempt(
    _ request: TransportRequest, requiresAuth: Bool, by transfer: Transfer, in generation: UInt64
  ) async throws(APIError) -> TransportResponse {
    guard requiresAuth else { return try await transfer.send(request, over: transport) }
    // A web view may have been given a newer cookie.
    await controller.exchangeLent()
    // The 401 that replaces the first credential.
    var rejection: (response: TransportResponse, credential: Credential)?
    // The token with which the user has met a demand.
    var proof: Credential?
    while true {
      let credential: Credential
      do throws(SessionError) {
        credential =
          if let proof { proof } else {
            try await controller.guarded { () async throws(SessionError) in
              try await controller.unguarded(SessionMachine.Need(refused: rejection?.credential))
            }
          }
      } catch {
        // Too young to be replaced, and rejected: the session may have ended in these seconds.
        if error == .tokenRejected, let rejection {
          try await endSessionIfReported(by: rejection.response, to: request, in: generation)
        }
        throw .session(error)
      }
      guard let ready = controller.abilities.authorize(request, with: credential, at: controller.clock.now().wall)
      else {
        await end(.expired, in: generation)
        throw .session(.signedOut(.expired))
      }
      let received = try await controller.requests.run(in: generation) { [transport] () async throws(APIError) in
        try await transfer.send(ready, over: transport)
      }
      guard var response = received else { throw .session(controller.fenceError) }
      // A bearer token is replaced by refreshes alone.
      if let scheme = controller.abilities.credential {
        response = try await inspected(response, to: ready, by: scheme, sent: credential, in: generation)
      }
      guard response.status == 401 else { return response }
      guard proof == nil else {
        try await endSessionIfReported(by: response, to: request, in: generation)
        return response
      }
      if let challenge = ReceivedChallenge(response.headers), challenge.demandsProof {
        guard let token = try await token(for: challenge) else { return response }
        proof = .accessToken(token)
        continue
      }
      guard rejection == nil else {
        try await endSessionIfReported(by: response, to: request, in: generation)
        throw .session(.tokenRejected)
      }
      rejection = (response, credential)
    }
  }

  /// Asks the user for what an API demands; `nil` without a way to ask, or if the user declines.
  private func token(for challenge: ReceivedChallenge) async throws(APIError) -> AccessToken? {
    guard let ask = options.stepUp, controller.abilities.credential == nil else { return nil }
    do throws(SessionError) { return try await ask(challenge.acrValues, challenge.maxAge) } catch {
      throw .session(error)
    }
  }
}
