public import HandstampCore

/// Whether a session may still be used.
public enum SessionStatus: Sendable, Hashable {
  case live(SessionRow)
  /// The session has ended or expired.
  case ended(EndReason)
  /// The session has waited too long for its first use, see ``SessionRow/isForgotten(at:)``: its access tokens count as expired, and a
  /// refresh begins its use.
  case forgotten
  /// The account has no session with that ID, or none that is still recorded.
  case unknown
}

extension Registry {
  /// Returns the status of one of the account's sessions. The server's own API asks for it with each request.
  public func status(
    of id: SessionID, account: AccountID, now: UnixTime
  ) async throws(RegistryError) -> SessionStatus {
    guard let row = try await storedSession(id), row.account == account else { return .unknown }
    if let reason = row.endReason(at: now) { return .ended(try await named(reason, of: id)) }
    return row.isForgotten(at: now) ? .forgotten : .live(row)
  }
}
