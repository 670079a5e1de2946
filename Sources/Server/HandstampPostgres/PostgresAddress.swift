#if PostgreSQL
import CHandstampLibraries
import Foundation
public import HandstampRegistry
import HandstampSupport

/// Where a PostgreSQL database is: a connection string as `psql` takes it. What it leaves open comes from the variables `PGHOST`,
/// `PGPASSWORD`, `PGSSLMODE` and so on, and from the password file.
public struct PostgresAddress: Sendable, CustomStringConvertible {
  private let text: String
  /// The address without user and password, for people and logs.
  public let description: String
  /// The name of the database, if the text has one.
  let database: String?
  /// The servers, each with the parameters that name it.
  let places: [[(String, String)]]

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
    guard PostgresAddress.isLikely(text), let values = PostgresAddress.parameters(in: text, pq) else {
      throw PostgresAddress.invalid
    }
    self.text = text
    database = values["dbname"]
    let environment = ProcessInfo.processInfo.environment
    let hosts = PostgresAddress.list(values["host"] ?? environment["PGHOST"])
    let addresses = PostgresAddress.list(values["hostaddr"] ?? environment["PGHOSTADDR"])
    let ports = PostgresAddress.list(values["port"] ?? environment["PGPORT"])
    // A password with a slash or an at sign ends up there.
    guard ports.allSatisfy({ $0.isEmpty || UInt16($0) != nil }), !(values["dbname"] ?? "").contains("@"),
      !hosts.contains(where: { $0.contains("@") })
    else { throw PostgresAddress.invalid }
    let count = max(hosts.count, addresses.count, 1)
    guard ports.count <= 1 || ports.count == count, hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count
    else { throw PostgresAddress.invalid }
    places = (0..<count).map { index in
      var place: [(String, String)] = []
      if !hosts.isEmpty { place.append(("host", hosts[index])) }
      if !addresses.isEmpty { place.append(("hostaddr", addresses[index])) }
      if let port = ports.count == count ? ports[index] : ports.first { place.append(("port", port)) }
      return place
    }
    let names = (hosts.isEmpty ? addresses : hosts).enumerated().map { index, host in
      let port = ports.count == count ? ports[index] : ports.first ?? ""
      return host + (port.isEmpty ? "" : ":\(port)")
    }
    description =
      "postgresql://\(names.joined(separator: ","))/\(values["dbname"] ?? environment["PGDATABASE"] ?? "")"
  }

  /// Without the words of libpq, which quote the text and may so quote a password.
  private static let invalid = RegistryOpenError.refused(
    "the address of the database is not valid",
    hint:
      "use one as psql takes it, such as postgresql://db.example.org/handstamp, and percent-encode what is special in a password;"
      + " for SQLite leave --database out"
  )

  private static func list(_ text: String?) -> [String] {
    text.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
  }

  /// Returns the parameters that the text has, or `nil` if it is not valid.
  private static func parameters(in text: String, _ pq: HSPostgres) -> [String: String]? {
    var error: UnsafeMutablePointer<CChar>?
    guard let options = pq.conninfoParse(text, &error) else {
      if let error { pq.freemem(error) }
      return nil
    }
    defer { pq.conninfoFree(options) }
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.value { values[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    return values
  }

  /// The parameters for libpq. Those before the text give way to it, those after it replace it.
  func parameters(of place: [(String, String)]) -> [(String, String)] {
    let environment = ProcessInfo.processInfo.environment
    let defaults = [
      // A standby may not be written, and may be behind.
      ("target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"),
      // A server that is gone without a word is noticed.
      ("tcp_user_timeout", "10000", ""), ("keepalives_idle", "10", ""), ("keepalives_interval", "3", ""),
      ("keepalives_count", "3", ""), ("fallback_application_name", "handstamp", ""),
    ].filter { environment[$0.2] == nil }.map { ($0.0, $0.1) }
    return defaults + [("dbname", text), ("client_encoding", "UTF8")] + place
  }
}

extension PostgresAddress {
  /// Why no connection can be made, with advice.
  func refusal(_ fault: PostgresError) -> RegistryOpenError {
    guard case .unconnected(let text) = fault else { return .unavailable("\(RegistryStoreError(fault))") }
    let why = PostgresAddress.plain(text)
    let has = { (part: String) in text.contains(part) }
    let hint =
      switch true {
      case has("28P01"), has("28000"), has("no password supplied"):
        "check user and password; a password is best kept in a file, see PGPASSFILE in the manual of PostgreSQL"
      case has("3D000"):
        "create it: createdb --encoding=UTF8 --template=template0 -O USER \(PostgresAddress.quoted(database ?? "handstamp"))"
      case has("read-only"), has("hot standby"), has("25006"):
        "if this is a standby, name the primary, too: postgresql://one.example.org,two.example.org/handstamp; if it is the primary,"
          + " set default_transaction_read_only = off"
      case has("certificate"), has("SSL"), has("ssl"):
        "check sslmode and sslrootcert of the address, and the dates and the name of the server's certificate"
      case has("53300"): "raise max_connections, or use fewer --database-connections"
      default: "check host and port, and that PostgreSQL runs there"
      }
    return .refused("cannot connect to \(self): \(why)", hint: hint)
  }

  /// As a word of a shell.
  private static func quoted(_ name: String) -> String {
    let isPlain = !name.isEmpty && name.utf8.allSatisfy { $0.isAlphanumeric || "-_".utf8.contains($0) }
    return isPlain ? name : "'" + name.replacingOccurrences(of: "'", with: "'\\''") + "'"
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
