#if Programs
import HandstampCore

/// Something in the way of an installation's commands, with the one command that puts it right.
struct Damage: Sendable, Hashable {
  /// Whose decision it takes.
  enum Cure: Sendable, Hashable {
    /// Nothing that can be read is lost by it: `doctor --fix` does it.
    case fix
    /// A session, or what was set, is given up as unreadable: `doctor --set-aside` does it. What is in the way gets another name.
    case setAside
    /// Another command does it.
    case run(String)
  }

  /// What is done.
  enum Step: Sendable, Hashable {
    /// Gives what is at this path another name.
    case rename(String)
    /// The same, in the folder of the vaults.
    case renameVaultFile(String)
    case mode(String, Int)
    /// Makes the list of accounts anew from what is stored.
    case rebuildList
    /// Writes the settings anew from the list of accounts.
    case rebuildSettings
  }

  /// Which check, as in ``Finding/check``.
  var check: String
  var words: String
  var cure: Cure
  var steps: [Step] = []
  /// Whether it keeps a session that is stored from being read, or may.
  var hidesSession = false

  /// The check of files that belong to another user: before that is put right, nothing else can be.
  static let owner = "owner"

  /// Whether, while it lasts, no session at all can be stored.
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
  /// The one command that leads out of all of it; `nil`: there is nothing.
  var hint: String? {
    (first { $0.check == Damage.owner } ?? first { $0.cure == .setAside } ?? first { $0.cure == .fix } ?? first)?.hint
  }
}
#endif
