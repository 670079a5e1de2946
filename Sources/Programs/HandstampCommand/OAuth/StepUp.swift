#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport

/// The proof of the user that an API demands before it carries out a request (RFC 9470).
struct StepUp: Sendable {
  let challenge: ReceivedChallenge

  /// Returns `nil` for a response that demands none.
  init?(_ response: TransportResponse) {
    guard response.status == 401, let challenge = ReceivedChallenge(response.headers), challenge.demandsProof else {
      return nil
    }
    self.challenge = challenge
  }

  /// Asks the user, and repeats the request once. The session goes on, whatever comes of it; an account of an OAuth server is signed
  /// in anew, so that its next requests show the proof as well.
  func repeated(_ request: TransportRequest, by client: AccountClient) async throws(CommandError) -> TransportResponse {
    Terminal.say("\(Origin(request.url)?.text ?? client.server.text) asks for \(words)")
    guard let access = client.access else { return try await repeatedWithPassword(request, by: client) }
    let account = try await signIn(as: client, access.record)
    guard account.id == client.account.id else {
      throw CommandError(
        .failure, "signed in as \(account.words), and not as \(client.account.words); nothing was sent again",
        hint: "run the same command with --account", code: "other_account")
    }
    let anew = try await AccountClient(home: client.home, account: account, named: client.name)
    let response = try await AuthorizedCaller.session(anew).respond(to: request)
    await anew.controller.flushAuditLog()
    return response
  }

  private var words: String {
    let proof = challenge.acrValues.isEmpty ? "another sign-in" : "a stronger sign-in"
    let strength = challenge.acrValues.isEmpty ? "" : " (\(challenge.acrValues.joined(separator: " ").onOneLine))"
    return proof + strength + (challenge.maxAge.map { ", at most \($0.words) ago" } ?? "")
  }

  /// Handstamp's own protocol has no page: a password, and the code of an authenticator app.
  private func repeatedWithPassword(
    _ request: TransportRequest, by client: AccountClient
  ) async throws(CommandError) -> TransportResponse {
    let caller = AuthorizedCaller.session(client)
    let response = try await caller.send(request, with: try await caller.proven(for: "proving who you are"))
    guard StepUp(response) == nil else {
      throw CommandError(
        .signInNeeded, "a password is not enough for this",
        hint: "sign in on a page: handstamp login --issuer \(shellWord(client.server.text)) --browser --force",
        code: "insufficient_user_authentication")
    }
    return response
  }

  /// Opens the page, or shows a device's code, with what the API asks for.
  private func signIn(as client: AccountClient, _ record: OAuthRecord) async throws(CommandError) -> ListedAccount {
    let attempt = try await SignInAttempt(
      at: client.server.text, account: client.name ?? client.account.id.rawValue)
    var asking = record
    var parameters = record.parameters ?? [:]
    if !challenge.acrValues.isEmpty { parameters["acr_values"] = challenge.acrValues.joined(separator: " ") }
    if let age = challenge.maxAge { parameters["max_age"] = String(age.components.seconds) }
    asking.parameters = parameters
    asking.scopes = record.scopes.union(challenge.scopes)
    let secret = try await client.home.clientSecret(of: client.account, record)
    return try await attempt.signIn(asking, secret: secret) { used in
      // The next sign-in does not ask for the same again.
      var stored = used
      stored.parameters = record.parameters
      return stored
    }
  }
}
#endif
