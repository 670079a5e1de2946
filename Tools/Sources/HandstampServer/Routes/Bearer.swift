import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

/// Who sends a request, as far as its access token and the registry's row say.
struct Bearer: Sendable {
  var account: AccountID
  var session: SessionID
  var expiresAt: UnixTime
}

extension SessionServer {
  /// The bearer of a request, if its token is genuine, good, and of a session that lives *now*: the signature alone would let
  /// a revoked session in until its token is over.
  func bearer(of request: Request, _ context: ServerContext) async throws -> Bearer {
    let token = try SessionServer.token(in: request)
    let now = configuration.now()
    let claims: AccessTokens.Claims
    switch tokens.verify(token, at: now) {
    case .success(let genuine): claims = genuine
    case .failure(.expired):
      metrics.update { $0.refusedTokens += 1 }
      throw Problem.invalidToken(code: "token_expired", "The access token is over")
    case .failure(.invalid):
      metrics.update { $0.refusedTokens += 1 }
      throw Problem.invalidToken(code: "token_invalid", "The access token is not valid here")
    }
    try await requireLive(claims, at: now, context)
    return Bearer(account: claims.account, session: claims.session, expiresAt: claims.expiresAt)
  }

  /// Refuses a session that is over, and notes that one that is not is in use.
  private func requireLive(
    _ claims: AccessTokens.Claims, at now: UnixTime, _ context: ServerContext
  ) async throws(Problem) {
    let row: SessionRow?
    do throws(RegistryStoreError) { row = try await registry.store.session(claims.session) } catch {
      throw storeProblem(error, context)
    }
    guard let row, row.account == claims.account else {
      metrics.update { $0.refusedTokens += 1 }
      throw .invalidToken(code: "token_invalid", "The access token is not valid here")
    }
    if let reason = row.over(at: now) {
      metrics.update { $0.refusedTokens += 1 }
      throw .invalidToken(code: "session_ended", "The session has ended", reason: reason.rawValue)
    }
    // A note that is missed now is made by a later request.
    do throws(RegistryError) { try await registry.touch(row, now: now) } catch { report(error, context) }
  }

  /// Trouble of the store, as an answer.
  func storeProblem(_ error: RegistryStoreError, _ context: ServerContext) -> Problem {
    metrics.update { $0.storeFailures += 1 }
    context.logger.error("Store unavailable", metadata: ["handstamp.cause": "\(error)"])
    return .unavailable
  }

  /// The token of the `Authorization` field: exactly one, scheme `Bearer` in any letter case (RFC 6750 section 2.1).
  private static func token(in request: Request) throws(Problem) -> Substring {
    let fields = request.headers[values: .authorization]
    guard let field = fields.first else { throw .tokenMissing }
    let parts = field.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard fields.count == 1, parts.count == 2 else {
      throw .invalidToken(code: "token_invalid", "The access token is not valid here")
    }
    guard parts[0].lowercased() == "bearer" else { throw .tokenMissing }
    return parts[1]
  }
}
