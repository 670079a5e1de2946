import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp login`.
struct Login: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "signs in to one more account, or anew to one that is known, and makes it the active one",
    discussion: "the password is asked for at a prompt, or read as one line from stdin; signing in twice is no error")

  @Argument(help: "the email address (default: that of --account)") var email: String?
  @Flag(help: "sign in again, even if the session is good") var force = false
  @Option(help: "how this device is listed (default: the host's name)") var deviceName: String?
  @OptionGroup var list: ListingOptions
  @OptionGroup var server: ServerOptions
  @OptionGroup var account: AccountOptions

  func perform() async throws {
    try EnvironmentToken.refuse(to: "login")
    let tag = try list.tag()
    // Who names another address, or another server, does not mean the shell's account.
    let named = email == nil && server.server == nil ? account.named : account.account
    let attempt = try await SignInAttempt(server: server, account: named, deviceName: deviceName)
    if !force, let known = try await attempt.alreadySignedIn(as: email) {
      return try await attempt.keep(known, tag: tag, activate: list.activates)
    }
    let email = try email ?? attempt.named?.address ?? Terminal.line("email", hint: "name it: handstamp login EMAIL")
    let password = try Terminal.secret("password")
    let identity = attempt.identity
    try await attempt.signIn(name: email, tag: tag, activate: list.activates) {
      () async throws(SessionError) -> Grant in
      try await identity.password(email, password)
    }
  }
}

/// How an account that is signed in to is listed.
struct ListingOptions: ParsableArguments {
  @Option(name: .customLong("tag"), help: "a short name of your own for the account, such as work")
  var typedTag: String?
  @Flag(help: "leave the active account the active one") var noSwitch = false

  var activates: Bool { !noSwitch }

  /// - Throws: a refusal for what could not be written after `--account`.
  func tag() throws(Refusal) -> String? {
    guard let tag = typedTag else { return nil }
    let isWord = !tag.isEmpty && tag.count <= 64 && !tag.hasPrefix("-") && !tag.contains { $0.isWhitespace }
    guard isWord, tag.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw Refusal(.usage, "this is no tag", hint: "a tag is one word, such as work")
    }
    return tag
  }
}

extension Account {
  /// The address to sign in with, if that is known.
  fileprivate var address: String? { name.contains("@") ? name : nil }
}
