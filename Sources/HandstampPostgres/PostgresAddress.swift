#if PostgreSQL
import CHandstampPostgres
import Foundation
import HandstampRegistry
public import HandstampStorage
import HandstampSupport

/// Where a PostgreSQL database is: a connection string as `psql` takes it. What it leaves open comes from the variables `PGHOST`,
/// `PGPASSWORD`, `PGSSLMODE` and so on, and from the password file.
public struct PostgresAddress: Sendable, CustomStringConvertible {
  private let text: String
  /// The address without user and password, for people and logs.
  public let description: String
  /// The name of the database, if the text has one.
  let database: String?
  /// The parameters that the text has.
  private let given: Set<String>

  /// Whether `text` looks like a connection string: `postgresql://host/name`, or `host=db.example.org dbname=name`.
  public static func isLikely(_ text: String) -> Bool {
    ["postgresql://", "postgres://"].contains { text.hasPrefix($0) }
      || text.split(separator: " ").contains {
        $0.hasPrefix("dbname=") || $0.hasPrefix("host=") || $0.hasPrefix("service=")
      }
  }

  /// - Parameter text: `postgresql://host:port/name?sslmode=verify-full`, with several hosts separated by commas, or words such
  ///   as `host=… dbname=…`.
  public init(_ text: String) throws(RegistryOpenError) {
    let pq = try Libpq.required()
    var error: UnsafeMutablePointer<CChar>?
    guard PostgresAddress.isLikely(text), let options = pq.conninfoParse(text, &error) else {
      let why = error.map { String(cString: $0).onOneLine }
      if let error { pq.freemem(error) }
      throw .refused(
        "the address of the database is not valid" + (why.map { ": \($0)" } ?? ""),
        hint: "use a connection string as psql takes it, such as postgresql://db.example.org/handstamp")
    }
    defer { pq.conninfoFree(options) }
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.value { values[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    self.text = text
    given = Set(values.keys)
    database = values["dbname"]
    let environment = ProcessInfo.processInfo.environment
    let hosts = (values["host"] ?? values["hostaddr"] ?? environment["PGHOST"] ?? "")
      .split(separator: ",", omittingEmptySubsequences: false)
    let ports = (values["port"] ?? environment["PGPORT"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
    let places = hosts.enumerated().map { index, host in
      let port = ports.count == hosts.count ? ports[index] : ports.first ?? ""
      return host + (port.isEmpty ? "" : ":\(port)")
    }
    description = "postgresql://\(places.joined(separator: ","))/\(values["dbname"] ?? environment["PGDATABASE"] ?? "")"
  }

  /// The parameters for libpq. Those before the text give way to it.
  var parameters: [(String, String)] {
    let environment = ProcessInfo.processInfo.environment
    let defaults = [
      // A standby may not be written, and may be behind.
      ("target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"), ("connect_timeout", "5", "PGCONNECT_TIMEOUT"),
      // A server that is gone without a word is noticed.
      ("tcp_user_timeout", "10000", ""), ("keepalives_idle", "10", ""), ("keepalives_interval", "3", ""),
      ("keepalives_count", "3", ""), ("fallback_application_name", "handstamp", ""),
    ].filter { environment[$0.2] == nil }.map { ($0.0, $0.1) }
    return defaults + [("dbname", text), ("client_encoding", "UTF8")]
  }
}

extension PostgresAddress {
  /// Why no connection can be made, with advice.
  func refusal(_ fault: PostgresFault) -> RegistryOpenError {
    guard case .unconnected(let text) = fault else { return .unavailable("\(RegistryStoreError(fault))") }
    let why = PostgresAddress.plain(text)
    let has = { (part: String) in text.contains(part) }
    let hint =
      switch true {
      case has("28P01"), has("28000"), has("no password supplied"):
        "check user and password; a password is best kept in a file, see PGPASSFILE in the manual of PostgreSQL"
      case has("3D000"): "create it: createdb \(database ?? "handstamp")"
      case has("read-only"), has("hot standby"), has("25006"):
        "name the primary, too: postgresql://one.example.org,two.example.org/handstamp"
      case has("certificate"), has("SSL"), has("ssl"):
        "check sslmode and sslrootcert of the address, and the dates and the name of the server's certificate"
      case has("53300"): "raise max_connections, or use fewer --database-connections"
      default: "check host and port, and that PostgreSQL runs there"
      }
    return .refused("cannot connect to \(self): \(why)", hint: hint)
  }

  /// The words of libpq on one line, without codes and places in the source of PostgreSQL.
  private static func plain(_ text: String) -> String {
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") && !$0.hasPrefix("HINT:") }
    return lines.map { line in
      var line = String(line)
      for severity in ["FATAL:  ", "ERROR:  "] {
        guard let range = line.range(of: severity) else { continue }
        line = String(line[range.upperBound...].dropFirst(7))
      }
      return line.trimmingCharacters(in: .whitespaces)
    }.joined(separator: "; ").onOneLine
  }
}
#endif
