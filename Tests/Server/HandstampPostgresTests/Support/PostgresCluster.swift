#if PostgreSQL
import Foundation
import HandstampPostgres
import HandstampRegistry
import HandstampSupport
import Testing

/// A PostgreSQL server of its own, from the system's programs, on a Unix socket in a temporary folder. It stops when the tests
/// release it, and also when their process dies.
final class PostgresCluster: Sendable {
  let folder: String
  private let settings: [String]
  private let port: Int
  /// The shell's last command, after the server has stopped.
  private let last: String
  private let process = Locked<Process?>(nil)
  private let number = Locked(0)

  /// A server that tests with databases of their own share. No test releases it: its folder goes when their process ends.
  static let shared = Result { try PostgresCluster(isShared: true) }

  /// - Parameters:
  ///   - settings: further settings, such as `max_connections=20`.
  ///   - port: also of the socket's name.
  init(_ settings: String..., port: Int = 5432, isShared: Bool = false) throws {
    self.port = port
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("pg-\(UUID().uuidString.prefix(8))").path
    self.settings = settings
    last = isShared ? "rm -rf '\(folder)'" : ":"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    if geteuid() == 0 { try PostgresCluster.run("chown", "postgres", folder) }
    try asOwner(
      "'\(PostgresCluster.programs)/initdb' -D '\(folder)/data' -U postgres -A trust -E UTF8 --locale=C --no-sync")
    try start()
  }

  deinit {
    stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Starts the server, and returns when it accepts connections.
  func start() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    let options = settings.map { "-c '\($0)'" }.joined(separator: " ")
    // The pipe ends with this process, however it ends.
    let server = """
      '\(PostgresCluster.programs)/postgres' -D '\(folder)/data' -k '\(folder)' -p \(port) -c listen_addresses='' -c max_connections=200 \
      -c shared_buffers=64MB \(options) >'\(folder)/log' 2>&1 & server=$!; cat >/dev/null; kill -QUIT $server 2>/dev/null; wait; \(last)
      """
    process.arguments = ["-c", PostgresCluster.asOwner(server)]
    process.standardInput = Pipe()
    try process.run()
    self.process.withLock { $0 = process }
    try PostgresCluster.run(
      "sh", "-c",
      "for i in $(seq 4800); do '\(PostgresCluster.programs)/pg_isready' -q -h '\(folder)' -p \(port) && exit; sleep 0.05; done; cat '\(folder)/log'; exit 1"
    )
  }

  /// Kills the server: nothing is flushed.
  func kill() throws {
    try asOwner("kill -9 $(head -1 '\(folder)/data/postmaster.pid')")
    stop()
  }

  func stop() {
    let process = process.withLock { process in
      defer { process = nil }
      return process
    }
    guard let process else { return }
    try? (process.standardInput as? Pipe)?.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Creates an empty database.
  func newDatabase(_ options: String = "") throws -> TestDatabase {
    let name = number.withLock { number in
      number += 1
      return "test\(number)"
    }
    try sql("CREATE DATABASE \(name) \(options)", in: "postgres")
    return TestDatabase(name: name, cluster: self)
  }

  /// Runs a statement with `psql`, and returns its output.
  @discardableResult
  func sql(_ statement: String, in database: String) throws -> String {
    try PostgresCluster.run(
      "psql", "-h", folder, "-p", "\(port)", "-U", "postgres", "-d", database, "-XqAt", "-v", "ON_ERROR_STOP=1", "-c",
      statement)
  }

  private func asOwner(_ command: String) throws {
    try PostgresCluster.run("sh", "-c", PostgresCluster.asOwner(command))
  }

  /// The command for the user that the server runs as, which must not be root.
  static func asOwner(_ command: String) -> String {
    guard geteuid() == 0 else { return command }
    return
      "cd / && exec setpriv --reuid=postgres --regid=postgres --clear-groups /bin/sh -c '\(command.replacing("'", with: "'\\''"))'"
  }

  /// The folder of the newest installed version's programs.
  static let programs: String = {
    let folder = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let newest = versions.compactMap { Int($0) }.max().map { "\(folder)/\($0)/bin" }
    return newest ?? "/usr/bin"
  }()

  @discardableResult
  static func run(_ command: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let trouble = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw CommandFailed(command: command.joined(separator: " "), output: text + trouble)
    }
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  struct CommandFailed: Error {
    var command: String
    var output: String
  }
}

/// A database of a cluster.
struct TestDatabase: Sendable {
  let name: String
  let cluster: PostgresCluster

  var url: String {
    "postgresql://postgres@/\(name)?host=\(cluster.folder)"
  }

  @discardableResult
  func sql(_ statement: String) throws -> String { try cluster.sql(statement, in: name) }

  /// The database as a node with that folder has it.
  func node(_ folder: String, connections: Int = 8) throws -> PostgresDatabase {
    PostgresDatabase(try PostgresAddress(url), folder: folder, connections: connections)
  }
}

/// A folder that is removed when the test releases it.
final class Folder: Sendable {
  let path: String
  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("node-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }
}
#endif
