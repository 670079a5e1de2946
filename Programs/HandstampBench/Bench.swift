#if Programs
import ArgumentParser
import Foundation

/// The program `HandstampBench`: measures all performance figures with a target in one run.
///
/// A missed target is marked but is not a failure: machines are noisy, and comparing runs requires the whole table. Everything
/// happens on loopback and in one temporary folder, which is deleted afterwards.
@main
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "HandstampBench",
    abstract: "measure Handstamp's performance against its targets",
    discussion: """
      takes about a minute; the table goes to stdout, progress to stderr
      exits with 0 even if a target is missed
      """)

  @Flag(help: "print JSON instead of a table") var json = false
  @Option(help: ArgumentHelp("measure only this part; repeatable", valueName: "part")) var only: [Part] = []

  @Option(help: .hidden) var memoryOfRevocations: Int?
  // For scripts/dev bench.
  @Flag(help: .hidden) var hello = false
  @Flag(help: .hidden) var terms = false

  @Option(help: ArgumentHelp("sessions that come back at once after an outage", valueName: "count"))
  var storm: Int?
  @Option(help: ArgumentHelp("the program handstamp-server, for --storm", valueName: "path"))
  var server = ".build/dist/out/handstamp-server"
  @Flag(help: "for --storm: clients without rotation keys, at a server that serves no token twice") var strict = false
  @Option(help: ArgumentHelp("a PostgreSQL database for --storm", valueName: "url")) var database: String?
  @Option(help: ArgumentHelp("where --storm draws its picture", valueName: "path")) var picture: String?
  @Flag(help: .hidden) var stormPart = false

  enum Part: String, CaseIterable, ExpressibleByArgument {
    case tokens, waiters, observers, accounts, vault, command, server, flood, verifier
  }

  func run() async throws {
    if let memoryOfRevocations { return try await RevocationMemory.report(memoryOfRevocations) }
    if hello { return try await HelloLane.serve() }
    #if os(Linux)
    if stormPart { return try StormClients.work() }
    #endif
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    if let storm {
      #if os(Linux)
      return try await Storm(sessions: storm, server: server, database: database, isStrict: strict, picture: picture)
        .run(in: folder.path + "/storm")
      #else
      throw ValidationError("a storm of \(storm) sessions needs Linux: server and load have a core each there")
      #endif
    }
    if terms { return try await Terms(folder: folder.path).write() }
    var report = Report(folder: folder.path)
    for part in Part.allCases where only.isEmpty || only.contains(part) {
      Progress.say(part.rawValue)
      do { try await measure(part, in: folder, into: &report) } catch {
        report.notes.append("\(part.rawValue): measurement failed: \(error)")
      }
    }
    report.finish()
    let table = json ? try report.json() : report.text
    FileHandle.standardOutput.write(Data((table + "\n").utf8))
  }

  private func measure(_ part: Part, in folder: TemporaryFolder, into report: inout Report) async throws {
    switch part {
    case .tokens: try await TokenPaths().measure(into: &report)
    case .waiters: try await Waiters().measure(into: &report)
    case .observers: try await Observers().measure(into: &report)
    case .accounts: try await AccountsSpeed(folder: folder.path + "/accounts").measure(into: &report)
    case .vault: try await VaultSpeed(folder: folder.path + "/vault").measure(into: &report)
    case .command: try await ColdStart(folder: folder.path).measure(into: &report)
    case .server: try await ServerSpeed(folder: folder.path + "/server").measure(into: &report)
    case .verifier: try await VerifierSpeed(folder: folder.path + "/verifier").measure(into: &report)
    case .flood: try await FloodSpeed(folder: folder.path + "/flood").measure(into: &report)
    }
  }
}

/// The temporary folder of one run.
struct TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/handstamp-bench-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// A failed measurement: the measured operation did not return the expected result.
struct BenchError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Progress messages on stderr.
enum Progress {
  static func say(_ text: String) { FileHandle.standardError.write(Data("· \(text)\n".utf8)) }
}
#else
import Foundation

@main struct Bench {
  static func main() {
    FileHandle.standardError.write(Data("HandstampBench: not in this build\nhint: run: scripts/dev bench\n".utf8))
    exit(1)
  }
}
#endif
