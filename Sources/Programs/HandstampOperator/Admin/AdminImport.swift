#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport

struct AdminImport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "store the accounts of another system's export",
    discussion: """
      people keep their IDs and their passwords, and get no mail; an account that
      is here keeps what it has; --merge adds only what it lacks

      the same command can run again, also after it was interrupted; lines that
      were refused are listed with the reason, and the others are stored

      exits 1 if a line was refused
      """)

  @Argument(help: "the export, or - for stdin") var file: String
  @Option(
    help: ArgumentHelp(
      "the system that wrote it: \(ImportFormat.allCases.map(\.rawValue).joined(separator: ", "))", valueName: "system")
  )
  var from: String?
  @Flag(help: "change nothing, and show what would be done") var dryRun = false
  @Flag(help: "give accounts that are here what they lack, such as a password") var merge = false
  @Option(help: "file with the hash_config of a Firebase project, from its console") var firebaseConfig: String?
  @Option(
    name: .customLong("provider"),
    help: ArgumentHelp(
      """
      a provider that people signed in with, as the export calls it, and its \
      issuer, such as github=https://github.com; may be repeated (google and \
      apple are known)
      """, valueName: "name=issuer"))
  var providers: [String] = []
  @OptionGroup var clients: AdminClients.FileOptions
  @OptionGroup var options: AdminOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let settings = try settings()
    let source = try ImportFile(file)
    let said = Locked(0)
    let report: ImportReport
    do {
      report = try await options.administering(needing: clients) {
        try await store(source, settings, $0, said)
      }
    } catch {
      let count = said.withLock { $0 }
      if count > 0 { Terminal.say("\(count) records were read before; run the same command again to go on") }
      throw error
    }
    if let failure = source.failure { throw failure }
    show(report)
    guard report.refused == 0 else {
      throw CommandError(
        .failure, "\(report.refused) record(s) refused", hint: "correct them, and run the same command again",
        code: "records_refused")
    }
  }

  /// A failure to read the file is in ``ImportFile/failure``.
  private func store(
    _ source: ImportFile, _ settings: ImportOptions, _ administration: Administration, _ said: Locked<Int>
  ) async throws -> ImportReport {
    try await administration.importAccounts(source, options: settings) { report in
      let count = report.created + report.merged + report.unchanged + report.refused
      let isNews = said.withLock { last in
        defer { last = count }
        return count / 10_000 > last / 10_000
      }
      if isNews { Terminal.say("\(count) records") }
    }
  }

  private func settings() throws(CommandError) -> ImportOptions {
    let names = ImportFormat.allCases.map(\.rawValue).joined(separator: ", ")
    guard let from else {
      let guess = ImportFile.guess(file)
      throw CommandError(
        .usage, "missing system",
        hint: guess.map { "it looks like \($0.rawValue): add --from \($0.rawValue)" }
          ?? "add --from with one of \(names)")
    }
    guard let format = ImportFormat(rawValue: from) else {
      throw CommandError(.usage, "unknown system \"\(plain(from))\"", hint: "use one of \(names)")
    }
    var settings = ImportOptions(format)
    (settings.merges, settings.isTrial) = (merge, dryRun)
    for provider in providers where !settings.addProvider(provider) {
      throw CommandError(
        .usage, "not a provider: \(plain(provider))",
        hint: "name it as the export does, with the issuer that serve --providers has: github=https://github.com")
    }
    if let firebaseConfig {
      guard let data = FileManager.default.contents(atPath: firebaseConfig), data.count <= 65_536,
        let hashing = FirebaseHashing(configuration: String(decoding: data, as: UTF8.self))
      else {
        throw CommandError(
          .usage, "no hash_config in \(plain(firebaseConfig))",
          hint: "copy it from the console: Authentication, Users, the menu, Password hash parameters")
      }
      settings.firebase = hashing
    }
    return settings
  }

  private func show(_ report: ImportReport) {
    if output.json {
      return Terminal.out(json: [
        "dryRun": dryRun, "created": report.created, "merged": report.merged, "unchanged": report.unchanged,
        "refused": report.refused,
        "refusals": report.refusals.objects([
          Column("line", \.line), Column("code", \.reason.code.rawValue), Column("field", \.reason.field),
          Column("address", \.address), Column("hint", \.reason.hint),
        ]),
        // Facts that have no place here, by kind.
        "left": report.left.mapValues { ["count": $0.count, "lines": $0.lines] as JSONObject },
      ])
    }
    let rows = report.refusals.map { ["line \($0.line)", $0.reason.code.rawValue, $0.address ?? "-", $0.reason.hint] }
    Table(rows: rows).write()
    if report.refused > report.refusals.count {
      Terminal.say("and \(report.refused - report.refusals.count) more")
    }
    for (kind, facts) in report.left.sorted(by: { $0.key < $1.key }) {
      let lines = facts.lines.prefix(10).map(String.init).joined(separator: ", ")
      let isMore = facts.count > 10
      Terminal.say("left out: \(kind) of \(facts.count) account(s), line \(lines)\(isMore ? ", …" : "")")
    }
    Terminal.say(
      (dryRun ? "nothing was changed; it would be: " : "")
        + "\(report.created) created, \(report.merged) merged, \(report.unchanged) unchanged, \(report.refused) refused"
    )
  }
}

/// The bytes of a file, or of stdin, in pieces.
final class ImportFile: AsyncSequence, Sendable {
  private let descriptor: Int32
  private let name: String
  private let error = Locked<CommandError?>(nil)

  init(_ path: String) throws(CommandError) {
    name = path
    descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ImportFile.unreadable(path) }
  }

  deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

  /// Why the file could not be read to its end.
  var failure: CommandError? { error.withLock { $0 } }

  struct Iterator: AsyncIteratorProtocol {
    let file: ImportFile

    mutating func next() async -> [UInt8]? {
      var bytes = [UInt8](repeating: 0, count: 256 << 10)
      var count = -1
      repeat { count = read(file.descriptor, &bytes, bytes.count) } while count < 0 && errno == EINTR
      guard count >= 0 else {
        file.error.withLock { $0 = ImportFile.unreadable(file.name) }
        return nil
      }
      return count > 0 ? Array(bytes.prefix(count)) : nil
    }
  }

  func makeAsyncIterator() -> Iterator { Iterator(file: self) }

  private static func unreadable(_ path: String) -> CommandError {
    CommandError(
      .failure, "cannot read \(plain(path)): \(String(cString: strerror(errno)))", hint: "name a file, or - for stdin")
  }

  /// The format that a file looks like, by names that only one system uses; `nil` for stdin.
  static func guess(_ path: String) -> ImportFormat? {
    guard path != "-", let file = FileHandle(forReadingAtPath: path),
      let data = try? file.read(upToCount: 65_536)
    else { return nil }
    let text = String(decoding: data, as: UTF8.self)
    let marks: [(String, ImportFormat)] = [
      ("\"localId\"", .firebase), ("\"secretData\"", .keycloak), ("\"realm\"", .keycloak), ("\"traits\"", .kratos),
      ("\"auth0|", .auth0), ("\"$oid\"", .auth0), ("\"pk\"", .django), ("raw_user_meta_data", .gotrue),
      ("encrypted_password", .devise), ("\"email_verified\"", .handstamp),
    ]
    return marks.first { text.contains($0.0) }?.1
  }
}
#endif
