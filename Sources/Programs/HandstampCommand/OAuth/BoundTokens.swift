#if Command
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampOAuth

/// Tokens that are bound to a key (RFC 9449), of accounts that signed in with `--dpop`.
extension Home {
  /// Each issuer has a key of its own, so that two servers cannot tell by it that a user has an account at both.
  private func proofKeyPath(at issuer: String) -> String {
    file(in: "oauth", for: issuer, ending: "dpop")
  }

  /// Returns what proves the possession of the key for a sign-in, and makes a missing key.
  func newProver(at issuer: String) throws(SessionError) -> DPoPProver {
    try? makeFolder(path + "/oauth")
    return DPoPProver(try DPoPKey(file: proofKeyPath(at: issuer)))
  }

  /// Returns what proves the possession of the key that an account's tokens are bound to.
  ///
  /// - Throws: ``SessionError/storage(_:)`` if it is missing, or another one has taken its place: a refresh with
  ///   another key might end the session.
  func prover(of record: OAuthRecord) throws(SessionError) -> DPoPProver {
    let file = proofKeyPath(at: record.issuer)
    guard FileManager.default.fileExists(atPath: file) else { throw .storage(.unavailable("\(file) is missing")) }
    let key = try DPoPKey(file: file)
    guard record.key == nil || record.key == key.thumbprint else {
      throw .storage(.wrongKey("\(file) is another key"))
    }
    return DPoPProver(key)
  }
}

extension AccountClient {
  /// Whether the account's tokens are useless without a proof.
  var isBound: Bool { access?.record.isBound == true }

  /// Refuses to hand out a token that its receiver could not use.
  func refuseBound() throws(CommandError) {
    guard isBound else { return }
    throw CommandError(
      .failure, "the tokens of \(account.words) are bound to a key, and each request needs a proof of it",
      hint:
        "run: handstamp request, or handstamp token --dpop URL; for other programs: handstamp login --no-dpop --force",
      code: "token_bound"
    )
    .about(name)
  }

  /// Describes that the key of bound tokens is the trouble; `nil` for other errors.
  func lostKey(_ error: SessionError) -> CommandError? {
    guard let record = access?.record, isBound, case .storage(let trouble) = error else { return nil }
    do throws(SessionError) { _ = try home.prover(of: record) } catch let found {
      guard found == error else { return nil }
      let words =
        switch trouble {
        case .unavailable(let text), .wrongKey(let text), .permissions(let text): plain(text)
        default: CommandError(trouble).message
        }
      return CommandError(
        .vault, "cannot use the key that the tokens are bound to: \(words); the session is kept",
        hint: "restore the file, or run: handstamp login --force", code: trouble.code
      )
      .about(name)
    }
    return nil
  }

  /// Returns the fields of one request with a bound token.
  ///
  /// - Parameter nonce: the latest one of the server; `nil` for an API that demands none.
  func provenFields(
    _ method: String, _ url: String, nonce: String?, minimumValidity: Duration
  ) async throws(CommandError) -> [HeaderField] {
    guard let record = access?.record, isBound else {
      throw CommandError(
        .failure, "the tokens of \(account.words) are bound to no key",
        hint: "sign in with: handstamp login --dpop --force",
        code: "token_not_bound"
      )
      .about(name)
    }
    let token = try await token(minimumValidity: minimumValidity, mayBeBound: true)
    do throws(SessionError) {
      let prover = try home.prover(of: record)
      if let nonce { prover.learn(from: [HeaderField("DPoP-Nonce", nonce)], of: url) }
      let proof = try prover.proof(method: method, url: url, token: token)
      return [
        HeaderField("Authorization", token.secret.withExposed { "DPoP " + $0 }), HeaderField("DPoP", proof),
      ]
    } catch { throw lostKey(error) ?? CommandError(error, server: server).about(name) }
  }
}
#endif
