#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

extension SessionServer {
  /// `POST /oauth/token`: exchanges a refresh token (RFC 6749 section 6) or a code for an access token and a new refresh token.
  @concurrent func token(_ request: Request, _ context: ServerContext) async throws -> Response {
    let (form, caller): (FormBody, Caller)
    switch try await call(request) {
    case .success(let found): (form, caller) = found
    case .failure(let refusal): return refusal.response
    }
    let proof: String?
    switch proofs.check(request, token: nil, at: clock.read()) {
    case .success(let thumbprint): proof = thumbprint
    case .failure(let fault): return proofs.refusal(fault, now: now())
    }
    switch form["grant_type"] {
    case "refresh_token": break
    case "authorization_code": return try await redeemCode(form, caller, proof: proof, context)
    case "urn:ietf:params:oauth:grant-type:device_code":
      return try await redeemDevice(form, caller, proof: proof, context)
    case nil: return OAuthAnswer.refusal("invalid_request", description: "grant_type is missing")
    case .some: return OAuthAnswer.refusal("unsupported_grant_type")
    }
    guard let presented = form["refresh_token"] else {
      return OAuthAnswer.refusal("invalid_request", description: "refresh_token is missing")
    }
    let wish = RefreshWish(form, of: caller.client, at: configuration.issuer)
    do throws(RegistryError) {
      let outcome = try await registry.refresh(
        RefreshToken(presented), key: form["rotation_key"].map { Secret($0) }, client: caller.client?.id, proof: proof,
        now: now()
      ) { wish.narrowed($0) != nil }
      return try answer(outcome, wish, context)
    } catch {
      // Server failures, including a missing key, must never look like a refusal, which would sign users out.
      report(error, context)
      return OAuthAnswer.unavailable
    }
  }

  private func answer(
    _ outcome: RefreshOutcome, _ wish: RefreshWish, _ context: ServerContext
  ) throws(RegistryError) -> Response {
    switch outcome {
    case .issued(let issue):
      count(issue, context)
      do {
        return OAuthAnswer.success(try tokenAnswer(issue.row, issue.refreshToken, for: wish.narrowed(issue.row) ?? nil))
      } catch {
        // The rotation is stored; a retry with the same token and key gets the same successor.
        throw .unavailable("signing failed: \(type(of: error))")
      }
    case .superseded(let session):
      metrics.update { $0.superseded += 1 }
      context.logger.notice("Refresh superseded", metadata: ["handstamp.session": "\(session)"])
      return OAuthAnswer.refusal("invalid_grant", code: "superseded")
    case .ended(_, let reason):
      return OAuthAnswer.refusal("invalid_grant", reason: reason)
    case .theft(let row, let sign, _):
      hub.announce(row.account)
      metrics.update { $0.thefts += 1 }
      context.logger.warning(
        "Copied refresh token detected, session ended",
        metadata: [
          "handstamp.session": "\(row.id)", "handstamp.account": "\(row.account)", "handstamp.sign": "\(sign.rawValue)",
        ])
      return OAuthAnswer.refusal("invalid_grant", reason: .tokenReuseDetected)
    case .forged:
      metrics.update { $0.garbage += 1 }
      return OAuthAnswer.refusal("invalid_grant")
    case .otherClient: return OAuthAnswer.refusal("invalid_grant")
    case .notGranted: return OAuthAnswer.refusal(wish.names("resource") ? "invalid_target" : "invalid_scope")
    case .otherProof: return OAuthAnswer.refusal("invalid_dpop_proof")
    case .invalidRequest:
      return OAuthAnswer.refusal("invalid_request", description: "rotation_key is missing or malformed")
    }
  }

  private func count(_ issue: RefreshOutcome.Issue, _ context: ServerContext) {
    switch issue.course {
    case .rotated: metrics.update { $0.rotations += 1 }
    case .repeated: metrics.update { $0.repeats += 1 }
    case .fastForwarded(let lost):
      metrics.update {
        $0.rotations += 1
        $0.fastForwards += 1
      }
      context.logger.warning(
        "The store had lost rotations of a session",
        metadata: ["handstamp.session": "\(issue.row.id)", "handstamp.lost": "\(lost)"])
    }
  }

  /// Returns the form of an OAuth request, or an error response of RFC 6749 section 5.2.
  func form(of request: Request) async throws -> Result<FormBody, OAuthRefusal> {
    func refuse(_ description: String, status: HTTPResponse.Status = .badRequest) -> Result<FormBody, OAuthRefusal> {
      .failure(OAuthRefusal(OAuthAnswer.refusal("invalid_request", status: status, description: description)))
    }
    let body: ByteBuffer
    do {
      body = try await request.wholeBody(of: "application/x-www-form-urlencoded", upTo: configuration.bodyLimit)
    } catch let problem as Problem {
      // RFC 6749 section 5.2 defines no status for an unsupported content type.
      let status = problem.status == .unsupportedMediaType ? .badRequest : problem.status
      return refuse(problem.detail ?? problem.title, status: status)
    }
    do throws(FormBody.Fault) {
      return .success(try FormBody(body.readableBytesView))
    } catch {
      switch error {
      case .repeated: return refuse("a parameter is repeated")
      case .malformed: return refuse("the body is not a valid form")
      }
    }
  }
}
#endif
