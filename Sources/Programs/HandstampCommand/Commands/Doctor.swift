#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore

struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor", abstract: "check this installation for problems, and optionally fix them",
    discussion: """
      checks folders, key, locks, leftover files, accounts, ended sessions,
      servers and clocks; prints no secrets, and changes nothing without --fix or
      --set-aside, which rename damaged files (to NAME.corrupt-1) and delete
      nothing but ID tokens in files that killed programs left

      exits 1 if there are problems
      """)

  @Flag(help: "fix the problems that can be fixed without losing a session") var fix = false
  @Flag(help: "also rename files that cannot be read, such as vaults whose key is missing, and give them up")
  var setAside = false

  @OptionGroup var output: OutputOptions
  @OptionGroup var quietOption: QuietOption

  func run() async throws {
    var home = try Home.current()
    var repaired = fix || setAside ? try await Repair.run(on: home, settingAside: setAside) : []
    if fix {
      let count = IdentityTokenFile.removeLeft(in: home)
      if count > 0 { repaired.append("deleted \(count) file(s) with an ID token of killed processes") }
    }
    // The repair may have changed where the key is kept.
    home = home.withNotedKey
    let findings = await Examination.findings(of: home)
    let problems = findings.count { $0.level == .problem }
    if output.json {
      // Completed repairs, one line each.
      Terminal.out(json: [
        "home": home.path, "version": CommandProgram.version, "problems": problems, "repaired": repaired,
        "findings": findings,
      ])
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
      throw CommandError(.failure, "\(problems) problem(s)", hint: "see the hint under each problem")
    }
  }
}
#endif
