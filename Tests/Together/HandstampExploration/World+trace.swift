import HandstampCore
import HandstampSupport

/// The history as text for human readers.
extension World {
  /// Uptime and wall-clock time.
  var clockText: String {
    guard life != nil else { return "-" }
    let milliseconds = clock.uptime.wholeMilliseconds
    return "boot \(clock.boot) +\(milliseconds / 1000).\(milliseconds % 1000 / 100) s \(clock.wall)"
  }

  func short(_ effect: SessionMachine.Effect) -> String {
    switch effect {
    case .publish(let state): "shows \(short(state))"
    case .audit(let entry): "notes \(entry.action) \(entry.outcome)"
    case .refreshed(_, let error): "ends the refresh with \(error.map { "\($0)" } ?? "new tokens")"
    case .adopted: "uses another process's tokens"
    case .startTimer(let timer, _, let delay): "timer \(timer) in \(delay)"
    case .resume(let waiters, .success): "\(waiters.count) get a token"
    case .resume(let waiters, .failure(let error)): "\(waiters.count) get \(error)"
    case .finish(_, let result): "finishes with \(result)"
    case .cancelRequests: "cancels requests"
    case .unlock(let operation): "unlocks \(operation)"
    case .abandon(let operation): "abandons \(operation)"
    case .ignored: "ignores it"
    case .read(let operation): "reads \(operation)"
    case .edit(let operation, let edit): "edits \(operation): \(short(edit))"
    case .lock(let operation, _): "wants the lock \(operation)"
    case .askRefresh(let operation, let request):
      "asks \(operation) \(short(request.token)) with key \(short(request.key))"
    case .checkSender(let operation, let attempt): "checks \(operation) whether p\(attempt.sender.id) has ended"
    case .clean(let ended, let step): "cleans \(step) after \(short(ended.id))"
    case .revoke(let session, _): "revokes \(short(session)) at the server"
    }
  }

  private func short(_ state: SessionState) -> String {
    switch state {
    case .restoring: "restoring"
    case .signedOut(let reason): "signed out (\(reason?.rawValue ?? "no reason"))"
    case .signedIn(let facts): "signed in \(facts.profile?.name ?? "unknown") \(short(facts.id))"
    case .unavailable(let error): "unavailable: \(error)"
    }
  }

  private func short(_ edit: VaultEdit) -> String {
    switch edit {
    case .prepareSignIn: "prepare a sign-in"
    case .forgetSignIn: "forget a sign-in"
    case .begin(let session, _): "begin \(short(session.id))"
    case .prepare(let session, let token, _, let key, let attempt, let previous):
      "prepare \(short(session)) \(short(token)) key \(short(key))"
        + (attempt == nil ? "" : ", noting an attempt" + (previous == nil ? "" : " over another"))
    case .updateAttempt(let session, _, let attempt):
      "note \(short(session)) \(attempt == nil ? "no attempt" : "a reading of the attempt")"
    case .postpone(let session, _, _): "postpone the revocation of \(short(session))"
    case .replaceRevocation(let session, _, _): "revoke with a newer token of \(short(session))"
    case .putBack(let session, let revision): "restore \(short(session.id)) of revision \(revision)"
    case .advance(let session, let tokens):
      "advance \(short(session)) \(short(tokens.sent)) → \(short(tokens.successor))"
    case .renew(let session, _, _): "renew \(short(session))"
    case .identify(let session, let profile): "identify \(short(session)) as \(profile.name)"
    case .end(let session, let token, let reason, _, _):
      "end \(short(session)) \(token.map { "holding \(short($0))" } ?? "") \(reason.rawValue)"
    case .signOut(let reason, _, _, _): "end whatever: \(reason.rawValue)"
    case .bury(let tombstone): "bury \(short(tombstone.session))"
    case .delivered(let session, _): "delivered \(short(session))"
    case .cleaned(let session, let steps): "cleaned \(short(session)): \(steps.joined(separator: " "))"
    case .claim(let session, let issuer): "claim \(short(session)) for \(issuer)"
    case .receive: "receive"
    case .vacate: "vacate"
    case .touch(let session, _): "touch \(short(session))"
    }
  }

  /// Sessions by number, tokens by session and counter.
  private func short(_ session: SessionID) -> String {
    sessions.firstIndex { $0.session == session }.map { "s\($0)" } ?? session.rawValue
  }

  private func short(_ token: RefreshToken) -> String {
    let parts = token.secret.withExposed { $0.split(separator: " ").map(String.init) }
    return parts.count == 4 ? "\(short(SessionID(parts[1]))).T\(parts[2])" : "T?"
  }

  private func short(_ key: RotationKey) -> String { String(key.wireText.withExposed { $0 }.prefix(4)) }
}
