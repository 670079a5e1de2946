public import HandstampCore

/// Asks nobody: answers by a script. Counts how often it was asked, and how often at a time.
///
/// ```swift
/// let person = ScriptedPresence()                                 // is there, every time
/// let nobody = ScriptedPresence { _ in .declined }
/// let late = ScriptedPresence { _ in await gate.wait(); return nil }
/// ```
public final class ScriptedPresence: UserPresence {
  private struct Content: Sendable {
    var reasons: [String] = []
    var asking = 0
    var mostAtOnce = 0
  }
  private let content = Locked(Content())
  private let answer: @Sendable (Int) async -> PresenceError?

  /// - Parameter answer: what comes of the question with that number, from 1; nothing means that somebody is there.
  public init(_ answer: @escaping @Sendable (Int) async -> PresenceError? = { _ in nil }) { self.answer = answer }

  /// What the person was told, each time.
  public var reasons: [String] { content.withLock { $0.reasons } }

  /// The most questions that there were at one time.
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
