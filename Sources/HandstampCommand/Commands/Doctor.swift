#if Programs
import ArgumentParser
import Foundation
import HandstampCore

/// `handstamp doctor`.
struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "looks for what is wrong with this installation, and puts it right where it is told to",
    discussion: """
      looks at folders, key, locks, leftovers, accounts, ended sessions, servers and clocks; tells no secret, and changes
      nothing without --fix or --set-aside, which delete nothing: what is in the way gets a name that ends in .corrupt-1
      exits 1 when there is a problem
      """)

  @Flag(help: "put right what can be put right without giving up a session") var fix = false
  @Flag(help: "give up as well what cannot be read, such as vaults whose key is missing: it gets another name")
  var setAside = false

  @OptionGroup var output: OutputOptions
  @OptionGroup var manner: Manner

  struct Answer: Document {
    var schemaVersion = 1
    var home: String
    var version: String
    var problems: Int
    /// What was put right, a line each.
    var repaired: [String]
    var findings: [Finding]
  }

  func run() async throws {
    let found = try Home.current()
    let repaired = fix || setAside ? try await Repair.run(on: found, settingAside: setAside) : []
    // The key may be kept in another place now.
    let home = try Home.current()
    let findings = await Examination.findings(of: home)
    let problems = findings.count { $0.level == .problem }
    if output.json {
      Answer(
        home: home.path, version: HandstampTool.version, problems: problems, repaired: repaired, findings: findings
      )
      .print()
    } else {
      for line in repaired { Terminal.out("repaired  \(line.onOneLine)") }
      let rows = findings.map { finding in
        [finding.level.rawValue, finding.check, finding.account.map { "\($0): " + finding.words } ?? finding.words]
      }
      for (line, finding) in zip(Table(rows: rows).lines, findings) {
        Terminal.out(line)
        if let hint = finding.hint { Terminal.out("         hint: \(hint)") }
      }
    }
    guard problems == 0 else {
      throw Refusal(.failure, "\(problems) problem(s)", hint: "what to do stands with each of them")
    }
  }
}
#endif
