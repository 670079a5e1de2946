public import HandstampCore
import HandstampSupport

/// A scripted presence check. Counts all questions and the maximum at a time.
///
/// ```swift
/// let present = ScriptedPresence()                                // confirms every time
/// let declining = ScriptedPresence { _ in .declined }
/// let late = ScriptedPresence { _ in await Task { await gate.wait() }.value; return nil }
/// ```
public final class ScriptedPresence: UserPresence {
  private struct Content: Sendable {
    var reasons: [String] = []
    var asking = 0
    var mostAtOnce = 0
  }
  private let content = Locked(Content())
  private let answer: @Sendable (Int) async -> PresenceError?

  /// - Parameter answer: The answer to the question with this number, counted from 1; `nil` confirms presence.
  public init(_ answer: @escaping @Sendable (Int) async -> PresenceError? = { _ in nil }) { self.answer = answer }

  /// The reasons shown to the user, in order.
  public var reasons: [String] { content.withLock { $0.reasons } }

  /// The maximum number of questions at a time.
  public var mostAtOnce: Int { content.withLock { $0.mostAtOnce } }

  @concurrent public func confirm(_ reason: String) async throws(PresenceError) {
    let number = content.withLock { content in
      content.reasons.append(reason)
      content.asking += 1
      content.mostAtOnce = max(content.mostAtOnce, content.asking)
      return content.reasons.count
    }
    defer { content.withLock { $0.asking -= 1 } }
    if let error = await answer(number) { throw error }
  }
}
