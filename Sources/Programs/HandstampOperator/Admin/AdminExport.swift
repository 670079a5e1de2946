#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport

struct AdminExport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "write all accounts as JSON lines",
    discussion: """
      IDs, addresses, names, groups, passkeys, identities, and whether they are
      disabled; handstamp-server admin import gives the same accounts back;
      deleted accounts and guests are left out

      with secrets, people sign in as before after an import, also with their
      authenticator apps and recovery codes

      only the file's owner can read it; it replaces an older one
      """)

  @Argument(help: "file to write, or - for stdout") var file: String
  @Flag(
    help: ArgumentHelp(
      """
      with the hashes of passwords and recovery codes and the secrets of \
      authenticator apps, into a file only; keep it as secret as the passwords
      """))
  var withSecrets = false
  @OptionGroup var options: AdminOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    guard file != "-" || (!withSecrets && !output.json) else {
      throw CommandError(
        .usage, "stdout has the accounts alone, without secrets", hint: "name a file, which only its owner can read")
    }
    let target: NewFile?
    do throws(SystemError) { target = try file == "-" ? nil : NewFile(file) } catch {
      throw CommandError(.failure, plain("cannot write \(file): \(error)"), hint: "name another file")
    }
    let count = try await options.administering { administration in
      try await administration.exportAccounts(withSecrets: withSecrets) { try write($0, to: target) }
    }
    output.write(
      ["accounts": count.accounts, "guestsLeftOut": count.guests],
      or: "\(count.accounts) account(s), \(count.guests) guest(s) left out")
  }

  private func write(_ lines: [UInt8], to target: NewFile?) throws(CommandError) {
    guard let target else {
      Terminal.out(bytes: lines)
      return
    }
    do throws(SystemError) { try target.append(lines) } catch {
      throw CommandError(
        .failure, plain("cannot write \(file): \(error)"), hint: "make room, and run the same command again")
    }
  }
}
#endif
