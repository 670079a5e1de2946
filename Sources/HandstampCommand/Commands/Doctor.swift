#if Programs
import ArgumentParser
import Foundation
import HandstampCore

/// `handstamp doctor`.
struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "looks for what is wrong with this installation, and changes nothing",
    discussion: """
      looks at folders, key, locks, leftovers, accounts, ended sessions, servers and clocks; tells no secret
      exits 1 when there is a problem
      """)

  @OptionGroup var output: OutputOptions
  @OptionGroup var manner: Manner

  struct Answer: Document {
    var schemaVersion = 1
    var home: String
    var version: String
    var problems: Int
    var findings: [Finding]
  }

  func run() async throws {
    let home = try Home.current()
    let findings = await Examination.findings(of: home)
    let problems = findings.count { $0.level == .problem }
    if output.json {
      Answer(home: home.path, version: HandstampTool.version, problems: problems, findings: findings).print()
    } else {
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
