#if Programs
import HandstampCore

extension Refusal {
  /// With the way out that the state of the installation's files asks for. A session that is stored and cannot be
  /// read is never denied.
  func explained(in home: Home) async -> Refusal {
    let isNobody = code == Refusal.nobody.code && message == Refusal.nobody.message
    guard concernsHome || isNobody else { return self }
    let damages = await HomeCheck.damages(of: home)
    if isNobody { return Refusal(hiding: damages) ?? self }
    guard let hint = damages.hint else { return self }
    return Refusal(code, message, hint: hint)
  }

  /// Where a session is stored, or may be, that cannot be read; `nil`: every one can.
  static func hidden(in home: Home) async -> Refusal? { Refusal(hiding: await HomeCheck.damages(of: home)) }

  /// `nil`: none of `damages` hides a session.
  init?(hiding damages: [Damage]) {
    let hiding = damages.filter(\.hidesSession)
    guard let first = hiding.first, let hint = hiding.hint else { return nil }
    self.init(.vault, "a session is stored here that cannot be read: \(first.words)", hint: hint)
  }
}
#endif
