#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// Obtains the passphrase of the vaults from the file named in the environment, else from the terminal; never from arguments or
/// from a variable's value.
actor PassphrasePrompt {
  static let shared = PassphrasePrompt()
  private static let variable = "HANDSTAMP_PASSPHRASE_FILE"

  /// Set once the user declines, so that the same command does not ask again.
  private var isDeclined = false

  /// Turns off prompting, for a calling program that said there is no user. A passphrase file is still read.
  func stopAsking() { mayAsk = false }

  private var mayAsk = true

  /// Returns the passphrase, or `nil` if it is not given.
  func answer(_ question: Passphrase.Question) -> Secret? {
    guard !isDeclined else { return nil }
    do throws(CommandError) {
      if let path = PassphrasePrompt.path {
        if question.failure != nil {
          Terminal.say("handstamp: wrong passphrase in \(path)")
          isDeclined = true
          return nil
        }
        return try PassphrasePrompt.firstLine(of: path)
      }
      if question.failure != nil { Terminal.say("wrong passphrase") }
      guard mayAsk, let typed = try Terminal.secretAtTerminal("vault passphrase") else {
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

  /// Reads a new passphrase.
  static func newOne() throws(CommandError) -> Secret {
    if let path { return try firstLine(of: path) }
    return try Terminal.secret("new passphrase", twice: true)
  }

  private static var path: String? { ProcessEnvironment[variable] }

  private static func firstLine(of path: String) throws(CommandError) -> Secret {
    try SecretFile.firstLine(of: path, for: variable, code: .vault)
  }
}
#endif
