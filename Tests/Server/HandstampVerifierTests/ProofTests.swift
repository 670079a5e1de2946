#if Programs
import HandstampCore
import HandstampJOSE
import HandstampSupport
import Testing

@testable import HandstampVerifier

@Suite(.timeLimit(.minutes(10))) struct `A request with a bound token` {
  private let issuer = Issuer()
  private let holder = JWSPrivateKey.es256()
  private var token: String { issuer.token(["cnf": #"{"jkt":"\#(holder.publicKey.thumbprint)"}"#]) }

  private func refusal(
    _ verifier: TokenVerifier, _ token: String, _ proofs: [String], scheme: String = "DPoP", method: String = "GET",
    url: String = Issuer.api + "/things?a=b"
  ) async -> AccessError? {
    do throws(AccessError) {
      _ = try await verifier.authenticate(
        AccessRequest(method: method, url: url, authorization: ["\(scheme) \(token)"], proofs: proofs))
      return nil
    } catch { return error }
  }

  @Test func `is admitted with a proof, once`() async throws {
    let verifier = try issuer.verifier()
    let token = token
    let proof = issuer.proof(by: holder, for: token)
    #expect(await refusal(verifier, token, [proof]) == nil)
    #expect(await refusal(verifier, token, [proof]) == .proofInvalid(.replayed))
    #expect(await refusal(verifier, token, [issuer.proof(by: holder, for: token, id: "same")]) == nil)
    #expect(
      await refusal(verifier, token, [issuer.proof(by: holder, for: token, id: "same")]) == .proofInvalid(.replayed))
    // As long as it could be valid.
    issuer.clocks.advance(by: .seconds(69))
    #expect(await refusal(verifier, token, [proof]) == .proofInvalid(.replayed))
    issuer.clocks.advance(by: .seconds(2))
    #expect(await refusal(verifier, token, [proof]) == .proofInvalid(.time))
  }

  @Test func `is refused with a proof for anything else`() async throws {
    let verifier = try issuer.verifier()
    let token = token
    let other = JWSPrivateKey.es256()
    let now = issuer.clocks.now
    let good = issuer.proof(by: holder, for: token)
    let cases: [([String], ProofDefect)] = [
      ([], .missing), ([good, good], .missing), (["x"], .malformed), ([issuer.token()], .malformed),
      ([issuer.proof(by: other, for: token)], .otherKey),
      ([issuer.proof(by: holder, for: "another token")], .otherRequest),
      ([issuer.proof(by: holder, for: token, method: "POST")], .otherRequest),
      ([issuer.proof(by: holder, for: token, url: Issuer.api + "/other")], .otherRequest),
      ([issuer.proof(by: holder, for: token, url: "https://evil.example.org/things")], .otherRequest),
      ([issuer.proof(by: holder, for: token, at: now.advanced(by: .seconds(-71)))], .time),
      ([issuer.proof(by: holder, for: token, at: now.advanced(by: .seconds(11)))], .time),
    ]
    for (proofs, fault) in cases {
      #expect(await refusal(verifier, token, proofs) == .proofInvalid(fault), "\(fault)")
    }
    #expect(await refusal(verifier, token, [good]) == nil)
    #expect(
      await refusal(verifier, token, [issuer.proof(by: holder, for: token)], scheme: "Bearer") == .tokenInvalid(.scheme)
    )
    #expect(await refusal(verifier, issuer.token(), [good]) == .tokenInvalid(.scheme))
    await #expect(throws: AccessError.tokenInvalid(.scheme)) { try await verifier.verify(token) }
  }

  @Test func `is the only kind admitted if proofs are required`() async throws {
    let verifier = try issuer.verifier { $0.requiresProofs = true }
    let token = token
    #expect(await refusal(verifier, issuer.token(), [], scheme: "Bearer") == .tokenInvalid(.scheme))
    #expect(await refusal(verifier, token, [issuer.proof(by: holder, for: token)]) == nil)
    await #expect(throws: AccessError.tokenInvalid(.scheme)) { try await verifier.verify(issuer.token()) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The answer to a refused request` {
  private func answer(_ authorization: [String], requiring scopes: [String] = []) async throws -> RefusalResponse {
    let verifier = try Issuer().verifier()
    let request = AccessRequest(method: "GET", url: Issuer.api, authorization: authorization)
    do throws(AccessError) {
      _ = try await verifier.authenticate(request, requiring: scopes)
    } catch { return verifier.response(to: error, of: request, requiring: scopes) }
    throw CancellationError()
  }
  private func challenge(_ answer: RefusalResponse) -> String? { answer.headers.first(named: "WWW-Authenticate") }

  @Test func `challenges both schemes, with the error at the one that was used`() async throws {
    let none = #"Bearer, DPoP algs="ES256""#
    for fields in [[], ["Basic YTpi"], [""]] { #expect(challenge(try await answer(fields)) == none) }
    let bad = #"Bearer error="invalid_token", DPoP algs="ES256""#
    for fields in [["Bearer x"], ["bearer"], ["Bearer x", "Bearer x"], ["Bearer "]] {
      #expect(challenge(try await answer(fields)) == bad)
    }
    #expect(challenge(try await answer(["DPoP x"])) == #"DPoP error="invalid_token", algs="ES256", Bearer"#)
    #expect(
      challenge(AccessError.proofInvalid(.missing).response(to: .dpop))
        == #"DPoP error="invalid_dpop_proof", algs="ES256", Bearer"#)
    #expect(
      challenge(AccessError.insufficientScope(["a", "b\"\r\n"]).response())
        == #"Bearer error="insufficient_scope", scope="a b", DPoP scope="a b", algs="ES256""#)
    #expect(challenge(AccessError.unavailable(.keys).response()) == nil)
  }

  @Test func `says where tokens come from, and which scopes to ask for`() async throws {
    let verifier = try Issuer().verifier { $0.resource = ProtectedResource(Issuer.api) }
    let place = #"resource_metadata="https://api.example.org/.well-known/oauth-protected-resource""#
    func field(_ error: AccessError, _ authorization: [String] = [], _ scopes: [String] = []) -> String? {
      let request = AccessRequest(method: "GET", url: Issuer.api, authorization: authorization)
      return challenge(verifier.response(to: error, of: request, requiring: scopes))
    }
    #expect(field(.tokenMissing) == #"Bearer \#(place), DPoP \#(place), algs="ES256""#)
    let needed = #"scope="read", \#(place)"#
    #expect(field(.tokenMissing, [], ["read"]) == #"Bearer \#(needed), DPoP \#(needed), algs="ES256""#)
    for error in [AccessError.tokenInvalid(.signature), .tokenExpired(at: UnixTime(seconds: 1)), .sessionEnded] {
      #expect(
        field(error, ["Bearer x"], ["read"])
          == #"Bearer error="invalid_token", \#(needed), DPoP \#(needed), algs="ES256""#)
    }
    #expect(
      field(.proofInvalid(.missing), ["DPoP x"])
        == #"DPoP error="invalid_dpop_proof", \#(place), algs="ES256", Bearer \#(place)"#)
    // All that the request needs, each once.
    let all = #"scope="read write", \#(place)"#
    #expect(
      field(.insufficientScope(["write", "read"]), ["Bearer x"], ["read"])
        == #"Bearer error="insufficient_scope", \#(all), DPoP \#(all), algs="ES256""#)
    #expect(field(.unavailable(.keys)) == nil)
  }

  @Test func `is problem+json with the server's codes`() throws {
    let causes: [(AccessError, Int, String)] = [
      (.tokenMissing, 401, "token_missing"), (.tokenInvalid(.signature), 401, "token_invalid"),
      (.tokenExpired(at: UnixTime(seconds: 1)), 401, "token_expired"), (.sessionEnded, 401, "session_ended"),
      (.proofInvalid(.time), 401, "proof_invalid"), (.insufficientScope([]), 403, "insufficient_scope"),
      (.unavailable(.revocations(since: nil)), 503, "unavailable"),
    ]
    for (cause, status, code) in causes {
      let answer = cause.response()
      #expect(answer.status == status)
      #expect(answer.headers.first(named: "Content-Type") == "application/problem+json")
      #expect(answer.headers.first(named: "Cache-Control") == "no-store")
      #expect((answer.headers.first(named: "Retry-After") != nil) == (status == 503))
      let json = try #require(JSONValue(answer.body))
      #expect(json["status"] == .integer(Int64(status)))
      #expect(json["code"] == .string(code))
      #expect(json["type"] == .string("urn:handstamp:problem:" + code))
    }
  }
}
#endif
