#if Command
import HandstampCommandLine
import HandstampCore

/// A fault in an installation, with the command that fixes it.
struct Damage: Sendable, Hashable {
  /// How it can be fixed.
  enum Cure: Sendable, Hashable {
    /// `doctor --fix` fixes it, without losing anything readable.
    case fix
    /// `doctor --set-aside` fixes it by renaming an unreadable file, which gives up a session or a setting.
    case setAside
    /// Another command fixes it.
    case run(String)
  }

  /// One repair action.
  enum Step: Sendable, Hashable {
    /// Renames the item at this path.
    case rename(String)
    /// Renames an item in the vault folder.
    case renameVaultFile(String)
    case mode(String, Int)
    /// Rebuilds the list of accounts from the stored data.
    case rebuildList
    /// Rebuilds the settings from the list of accounts.
    case rebuildSettings

    var isMode: Bool { if case .mode = self { true } else { false } }
  }

  /// The check that found it, as in ``Finding/check``.
  var check: String
  var words: String
  var cure: Cure
  var steps: [Step] = []
  /// Whether it keeps, or may keep, a stored session from being read.
  var hidesSession = false

  /// The check for files owned by another user, which must be fixed before anything else.
  static let owner = "owner"

  /// Whether owner or mode is all that is wrong.
  var isOfPermissions: Bool { check == Damage.owner || !steps.isEmpty && steps.allSatisfy(\.isMode) }

  /// The code of a refusal for it; `nil` for that of its exit status.
  var code: String? { isOfPermissions ? "storage_permissions" : nil }

  /// Whether it prevents storing any session.
  var blocksEveryVault: Bool { ["home", "vault_folder", "key_file", "key_store", Damage.owner].contains(check) }

  var hint: String {
    switch cure {
    case .fix: "run: handstamp doctor --fix"
    case .setAside: "run: handstamp doctor --set-aside"
    case .run(let command): "run: \(command)"
    }
  }
}

extension [Damage] {
  /// The one command that fixes all of it, or `nil` if there is no damage.
  var hint: String? {
    (first { $0.check == Damage.owner } ?? first { $0.cure == .setAside } ?? first { $0.cure == .fix } ?? first)?.hint
  }
}

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
