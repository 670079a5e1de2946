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

  /// Nothing when nobody gives it.
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
      guard let typed = try Terminal.secretAtTerminal("passphrase of the vaults") else {
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
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw Refusal(.vault, "\(variable): \(path) cannot be read", hint: "name a file of your own")
    }
    defer { close(descriptor) }
    // A pipe, as of <(pass show vault), has no mode that means anything.
    if let facts = FileFacts(URL(fileURLWithPath: path).resolvingSymlinksInPath().path), facts.isRegular,
      facts.mode & 0o077 != 0
    {
      throw Refusal(.vault, "\(variable): others can read \(path)", hint: "run: chmod 600 \(path)")
    }
    var bytes = [UInt8](repeating: 0, count: 2048)
    defer { for index in bytes.indices { bytes[index] = 0 } }
    var count = 0
    while count < bytes.count, !bytes[..<count].contains(10) {
      let new = bytes[count...].withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      guard new > 0 else { break }
      count += new
    }
    var line = bytes[..<count].prefix { $0 != 10 }
    if line.last == 13 { line.removeLast() }
    guard !line.isEmpty else {
      throw Refusal(.vault, "\(variable): \(path) is empty", hint: "write the passphrase into its first line")
    }
    return Secret(bytes: line)
  }
}
#endif
