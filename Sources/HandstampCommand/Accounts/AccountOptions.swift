#if Programs
import ArgumentParser
import Foundation
import HandstampCore
import HandstampVaults

/// `--account` and `--quiet`, for everything that uses a session.
struct AccountOptions: ParsableArguments {
  @Option(
    help:
      "use this account, by name, tag or id (default: HANDSTAMP_ACCOUNT, else that of the folder, else the active one)",
    completion: .accounts)
  var account: String?
  @OptionGroup var manner: Manner

  /// What was named, on the command line or in the environment.
  var named: String? { account ?? EnvironmentAccount.current }

  /// The account to use.
  func chosen(_ book: AccountBook) throws(Refusal) -> Account {
    var account = try book.account(named)
    account.namedAs = self.account
    return account
  }
}

/// `--quiet`.
struct Manner: ParsableArguments {
  @Flag(help: "do not say what is waited for") var quiet = false

  func validate() { if quiet { WaitLine.shared.silence() } }
}

/// `HANDSTAMP_ACCOUNT`: the account that the commands of one shell use, whichever is the active one.
enum EnvironmentAccount {
  static let name = "HANDSTAMP_ACCOUNT"

  static var current: String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// For commands whose effect the variable would hide.
  static func refuse(to verb: String) throws(Refusal) {
    guard current != nil else { return }
    throw Refusal(
      .failure, "\(name) is set, so that \(verb) would change nothing that you see", hint: "run: unset \(name)")
  }
}

extension CompletionKind {
  /// Names and tags of accounts. Read from the list alone: no vault is opened, no lock is taken, and a disk that does not
  /// answer is left alone.
  static let accounts = CompletionKind.custom { (_: [String], _: Int, _: String) async -> [String] in
    guard let index = try? Home.current().index else { return [] }
    let (answers, answered) = AsyncStream.makeStream(of: [String].self)
    Task.detached {
      guard case .success(let list) = await index.read() else { return answered.finish() }
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
