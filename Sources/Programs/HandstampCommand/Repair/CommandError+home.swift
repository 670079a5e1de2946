#if Command
import HandstampCore
import HandstampCommandLine

extension CommandError {
  /// Returns the refusal with a hint that fits the state of the installation's files. Never says "not signed in" if there is a
  /// stored session that cannot be read.
  func explained(in home: Home) async -> CommandError {
    let isNotSignedIn = message == CommandError.notSignedIn.message
    guard concernsHome || isNotSignedIn else { return self }
    let damages = await HomeCheck.damages(of: home)
    if isNotSignedIn { return CommandError(hiding: damages) ?? self }
    guard let hint = damages.hint else { return self }
    var refusal = hinting(hint)
    if exit == .failure, damages.allSatisfy(\.isOfPermissions) {
      (refusal.exit, refusal.code) = (.vault, "storage_permissions")
    }
    return refusal
  }

  /// Returns a refusal if there is, or may be, a stored session that cannot be read; else `nil`.
  static func hidden(in home: Home) async -> CommandError? { CommandError(hiding: await HomeCheck.damages(of: home)) }

  /// `nil` if none of `damages` hides a session.
  init?(hiding damages: [Damage]) {
    let hiding = damages.filter(\.hidesSession)
    guard let first = hiding.first, let hint = hiding.hint else { return nil }
    self.init(.vault, "cannot read a session stored here: \(first.words)", hint: hint, code: first.code)
  }
}
#endif
