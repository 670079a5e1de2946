#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// `--account` and `--quiet`, for all commands that use a session.
struct AccountOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help:
      "account to use, by name, tag or ID (default: HANDSTAMP_ACCOUNT, else the folder's, else the active one)",
    completion: .accounts)
  var account: String?
  @OptionGroup var quietOption: QuietOption

  /// The account named on the command line or in the environment.
  var named: String? { account ?? EnvironmentAccount.current }
}

struct QuietOption: ParsableArguments {
  @Flag(help: "do not show what the command is waiting for") var quiet = false

  func validate() { if quiet { WaitLine.shared.silence() } }
}

/// `HANDSTAMP_ACCOUNT`: the account that commands in one shell use instead of the active one.
enum EnvironmentAccount {
  static let name = "HANDSTAMP_ACCOUNT"

  static var current: String? { ProcessEnvironment[name] }

  /// Refuses a command whose effect the variable would hide.
  static func refuse(to verb: String) throws(CommandError) {
    guard current != nil else { return }
    throw CommandError(
      .failure, "\(name) is set, so \(verb) would have no visible effect", hint: "run: unset \(name)")
  }
}

extension CompletionKind {
  /// Names and tags of accounts. Reads only the list, opens no vault, takes no lock, and gives up on a disk that does not
  /// respond within 500 ms.
  static let accounts = CompletionKind.custom { (_: [String], _: Int, _: String) async -> [String] in
    guard let store = try? Home.current().accounts else { return [] }
    let (answers, answered) = AsyncStream.makeStream(of: [String].self)
    Task.detached {
      guard case .success(let list) = await store.read() else { return answered.finish() }
      let names = list.accounts.flatMap { [$0.tag, $0.name].compactMap { $0?.onOneLine } }
      var seen: Set<String> = []
      answered.yield(names.filter { seen.insert($0).inserted })
    }
    Task.detached {
      try? await Task.sleep(for: .milliseconds(500))
      answered.finish()
    }
    for await names in answers { return names }
    return []
  }
}
#endif
