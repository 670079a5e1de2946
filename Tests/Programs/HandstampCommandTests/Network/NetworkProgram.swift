#if Programs
import Foundation
import HandstampCore
import HandstampTesting
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Proxies and TLS servers of the system, each on a port of this machine.
struct NetworkProgram: Sendable {
  let port: Int
  let end: @Sendable () -> Void

  /// Starts a program, and waits until it accepts connections.
  static func start(
    _ name: String, in folder: String, _ arguments: (_ port: Int) throws -> [String]
  ) async throws -> NetworkProgram {
    let port = try FreePort.find()
    let process = try GateFixture.program(name, try arguments(port), folder)
    let isOpen = await eventually { await NetworkProgram.answers(port) }
    try #require(isOpen, "\(name) is missing or did not start; scripts/deps --tests installs it")
    return NetworkProgram(port: port, end: { process.terminate() })
  }

  /// Whether anything accepts connections on a port of this machine.
  static func answers(_ port: Int) async -> Bool {
    let transport = AsyncHTTPTransport(network: NetworkSettings())
    let request = TransportRequest(method: "GET", url: "http://127.0.0.1:\(port)/", timeout: .seconds(1))
    do throws(TransportError) {
      _ = try await transport.send(request)
      return true
    } catch .notConnected { return false } catch { return true }
  }

  /// A proxy without authentication, and the file that it writes each connection to.
  static func tinyproxy(in folder: String) async throws -> (NetworkProgram, log: String) {
    let log = folder + "/tinyproxy.log"
    let program = try await start("tinyproxy", in: folder) { port in
      let file = "\(folder)/tinyproxy-\(port).conf"
      try
        "Port \(port)\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nAllow 127.0.0.1\nLogFile \"\(log)\"\nLogLevel Connect\n"
        .write(toFile: file, atomically: true, encoding: .utf8)
      return ["-d", "-c", file]
    }
    return (program, log)
  }

  /// A proxy that wants `name:secret-pass-of-squid`, and alone knows where `id.example.test` is: on this machine.
  static func squid(in folder: String) async throws -> NetworkProgram {
    // As root, it becomes another user that reads these files.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
    try "127.0.0.1 id.example.test\n".write(toFile: folder + "/hosts", atomically: true, encoding: .utf8)
    try await shell(#"printf 'name:%s\n' "$(openssl passwd -apr1 \#(squidPassword))" > users"#, in: folder)
    return try await start("squid", in: folder) { port in
      let file = "\(folder)/squid-\(port).conf"
      let lines = [
        "http_port 127.0.0.1:\(port)", "pid_filename none", "hosts_file \(folder)/hosts", "access_log none",
        "cache_log /dev/null", "cache deny all", "cache_mem 1 MB", "coredump_dir \(folder)", "netdb_filename none",
        "shutdown_lifetime 0 seconds", "dns_nameservers 127.0.0.1",
        "auth_param basic program /usr/lib/squid/basic_ncsa_auth \(folder)/users",
        "auth_param basic children 1 startup=0 idle=1", "acl known proxy_auth REQUIRED", "http_access allow known",
        "http_access deny all",
      ]
      try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
      return ["-N", "-f", file]
    }
  }

  static let squidPassword = "secret-pass-of-squid"

  /// A server that answers with the name in the client's certificate, which it requires.
  static func nginx(in folder: String) async throws -> NetworkProgram {
    try await start("nginx", in: folder) { port in
      let file = "\(folder)/nginx-\(port).conf"
      let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
      try """
      daemon off; pid \(folder)/nginx-\(port).pid; error_log \(folder)/nginx.log;
      events {}
      http {
        access_log off; \(temporary.joined(separator: " "))
        server {
          listen 127.0.0.1:\(port) ssl;
          ssl_certificate \(folder)/server.pem; ssl_certificate_key \(folder)/server.key;
          ssl_client_certificate \(folder)/ca.pem; ssl_verify_client on;
          location / { return 200 "$ssl_client_s_dn"; }
        }
      }
      """.write(toFile: file, atomically: true, encoding: .utf8)
      return ["-c", file]
    }
  }

  /// Makes two authorities, `ca` and `other`; the certificates `server`, `client`, `elsewhere` and the expired `old` of the first, `fake` of the
  /// second; and `locked.key`, the client's key under the passphrase `word`.
  static func makeCertificates(in folder: String) async throws {
    try await shell(
      """
      make() { name=$1; shift; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
        -subj "/CN=$name" -keyout "$name.key" -out "$name.pem" "$@"; }
      names=subjectAltName=DNS:id.example.test,IP:127.0.0.1
      make ca -addext basicConstraints=critical,CA:TRUE
      make other -addext basicConstraints=critical,CA:TRUE
      make server -CA ca.pem -CAkey ca.key -addext $names -addext basicConstraints=critical,CA:FALSE
      make elsewhere -CA ca.pem -CAkey ca.key -addext subjectAltName=DNS:elsewhere.test
      openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=old -addext $names -keyout old.key -out old.csr
      openssl x509 -req -in old.csr -CA ca.pem -CAkey ca.key -copy_extensions copy -days -1 -out old.pem
      make fake -CA other.pem -CAkey other.key -addext $names -addext basicConstraints=critical,CA:FALSE
      make client -CA ca.pem -CAkey ca.key -addext basicConstraints=critical,CA:FALSE
      openssl pkey -aes256 -passout pass:word -in client.key -out locked.key
      """, in: folder)
  }

  /// Runs a script in a folder, and expects that it succeeds.
  static func shell(_ script: String, in folder: String) async throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-ec", script]
    process.currentDirectoryURL = URL(fileURLWithPath: folder, isDirectory: true)
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let status = OneShot<Int32>()
    process.terminationHandler = { status.set($0.terminationStatus) }
    try Child.withUsualSignals { try process.run() }
    let code = try await within(.seconds(240), "a script") { try await status.value() }
    #expect(code == 0, "\(script)")
  }
}
#endif
