#if Server
import HandstampSupport

/// Remembers tokens whose signature was verified, with their claims: a client sends the same access token with every request until it
/// expires, and verifying takes longer than everything else that such a request needs.
///
/// Only genuine tokens get in, so strangers cannot fill it. It says nothing about time or sessions: the caller checks both, every
/// time. It belongs to one set of keys and ends with it.
final class VerifiedTokens<Claims: Sendable>: Sendable {
  private struct Content: Sendable {
    /// The tokens seen since the last turn, and those that were seen in the turn before.
    // By bytes: texts are equal if they are canonically equivalent, and a token must have no second spelling.
    var recent: [[UInt8]: Claims] = [:]
    var previous: [[UInt8]: Claims] = [:]
  }

  /// How many tokens a turn takes, about 2 KB each.
  private let size: Int
  private let content = Locked(Content())

  init(size: Int = 4096) { self.size = size }

  /// Returns the claims of a token: the remembered ones, or what `verify` returns, which is `nil` for a token that is not genuine.
  func claims(of token: [UInt8], _ verify: () -> Claims?) -> Claims? {
    let known = content.withLock { content -> Claims? in
      if let claims = content.recent[token] { return claims }
      guard let claims = content.previous[token] else { return nil }
      insert(token, claims, into: &content)
      return claims
    }
    if let known { return known }
    guard let claims = verify() else { return nil }
    content.withLock { insert(token, claims, into: &$0) }
    return claims
  }

  /// The number of tokens, at most two turns.
  var count: Int { content.withLock { $0.recent.count + $0.previous.count } }

  private func insert(_ token: [UInt8], _ claims: Claims, into content: inout Content) {
    if content.recent.count >= size { (content.previous, content.recent) = (content.recent, [:]) }
    content.recent[token] = claims
  }
}
#endif
