#if Programs
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampVerifier

@Suite(.timeLimit(.minutes(10))) struct `A rule about the user's proof` {
  private let mfa = AuthenticationRule.multiFactor
  private let phr = AuthenticationRule.phishingResistant

  private func isMet(_ rule: AuthenticationRule, _ verifier: TokenVerifier, _ token: String) async throws -> Bool {
    do throws(AccessError) {
      _ = try await verifier.verify(token, rule)
      return true
    } catch {
      #expect(error == .insufficientAuthentication(rule))
      return false
    }
  }

  @Test func `is met until its time is over, by one tick`() async throws {
    let issuer = Issuer()
    let verifier = try issuer.verifier { $0.leeway = .seconds(2) }
    let token = issuer.token(["auth_time": "\(issuer.clocks.now.seconds)", "exp": "\(issuer.clocks.now.seconds + 900)"])
    let rule = AuthenticationRule(maxAge: .seconds(300))
    let start = issuer.clocks.now
    issuer.clocks.advance(by: .milliseconds(302_000) - start.since(UnixTime(seconds: start.seconds)))
    #expect(try await isMet(rule, verifier, token))
    issuer.clocks.advance(by: .milliseconds(1))
    #expect(try await !isMet(rule, verifier, token))
    #expect(try await isMet(.any, verifier, token))
    // A token that does not say is not recent.
    #expect(try await !isMet(rule, verifier, issuer.token()))
  }

  @Test func `is met by each accepted strength, and by a passkey where two factors are`() async throws {
    let issuer = Issuer()
    let verifier = try issuer.verifier()
    for (accepted, strength, met) in [
      ([mfa], mfa, true), ([mfa], phr, true), ([phr], phr, true), ([phr], mfa, false), (["x", phr], phr, true),
      (["x"], phr, false), ([phr], "", false), ([], "", true),
    ] {
      let token = issuer.token(["acr": strength.isEmpty ? "" : "\"\(strength)\"", "amr": #"["swk","mfa"]"#])
      #expect(try await isMet(AuthenticationRule(acr: accepted), verifier, token) == met, "\(accepted) \(strength)")
    }
    let identity = try await verifier.verify(issuer.token(["acr": #""phr""#, "amr": #"["swk","mfa"]"#]))
    #expect(identity.acr == "phr" && identity.methods == ["swk", "mfa"])
    for odd in [["acr": "1"], ["amr": #""pwd""#]] {
      await #expect(throws: AccessError.tokenInvalid(.claims)) { _ = try await verifier.verify(issuer.token(odd)) }
    }
  }

  @Test func `is told to clients with all that they need, at once`() async throws {
    let issuer = Issuer()
    let verifier = try issuer.verifier()
    let request = AccessRequest(
      method: "GET", url: "https://api.example.org/", authorization: ["Bearer \(issuer.token())"])
    let rule = AuthenticationRule(acr: [phr, "a\"b"], maxAge: .seconds(300))
    do throws(AccessError) {
      _ = try await verifier.authenticate(request, requiring: ["admin"], rule)
      Issue.record("admitted")
    } catch {
      let response = verifier.response(to: error, of: request, requiring: ["admin"])
      #expect(response.status == 401)
      #expect(
        response.headers.first { $0.name == "WWW-Authenticate" }?.value.hasPrefix(
          #"Bearer error="insufficient_user_authentication", scope="admin", acr_values="phr ab", max_age="300""#)
          == true)
      #expect(String(decoding: response.body, as: UTF8.self).contains(#""code":"insufficient_user_authentication""#))
    }
    // An ended or expired token is no matter of proofs.
    issuer.clocks.advance(by: .seconds(700))
    do throws(AccessError) { _ = try await verifier.authenticate(request, rule) } catch {
      #expect(error.code == "token_expired")
    }
  }
}
#endif
