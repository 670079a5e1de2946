#if Programs
import Foundation
import HandstampCore
import HandstampVaults

/// Brings the passphrase of the vaults: from the file that a variable names, else from the terminal; never from arguments, nor
/// from a variable itself.
actor PassphrasePrompt {
  static let shared = PassphrasePrompt()
  private static let variable = "HANDSTAMP_PASSPHRASE_FILE"

  /// Who said no once is not asked again by the same command.
  private var isDeclined = false

  /// Asks at no terminal: the program runs for another one, which said that there is no user. A file is read nevertheless.
  func stopAsking() { mayAsk = false }

  private var mayAsk = true

  /// `nil` when it is not given.
  func answer(_ question: Passphrase.Question) -> Secret? {
    guard !isDeclined else { return nil }
    do throws(Refusal) {
      if let path = PassphrasePrompt.path {
        if question.failure != nil {
          Terminal.say("handstamp: the passphrase in \(path) is not the one that was set")
          isDeclined = true
          return nil
        }
        return try PassphrasePrompt.firstLine(of: path)
      }
      if question.failure != nil { Terminal.say("that was not the passphrase") }
      guard mayAsk, let typed = try Terminal.secretAtTerminal("passphrase of the vaults") else {
        isDeclined = true
        return nil
      }
      return typed
    } catch {
      Terminal.say("handstamp: \(error.message)")
      isDeclined = true
      return nil
    }
  }

  /// One that is about to be set.
  static func newOne() throws(Refusal) -> Secret {
    if let path { return try firstLine(of: path) }
    return try Terminal.secret("new passphrase", twice: true)
  }

  private static var path: String? {
    ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func firstLine(of path: String) throws(Refusal) -> Secret {
    try SecretFile.firstLine(of: path, for: variable, code: .vault)
  }
}
#endif
