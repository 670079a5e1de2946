#if Programs
import Crypto
import Foundation
import HTTPTypes
import Handstamp
import HandstampServer
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// A server, gates for nginx and for Caddy, both proxies, and a service behind them: all but the service are processes.
struct GateFixture: Sendable {
  static let secret = "the secret of the API"

  let server: String
  /// The proxies' URLs.
  let nginx: String
  let caddy: String
  /// The URL of Caddy's gate.
  let gate: String
  let kill: @Sendable () -> Void

  static func run(
    whenLost policy: String = "refuse", _ body: @escaping @Sendable (GateFixture) async throws -> Void
  ) async throws {
    try await ProcessFixture.inFolder { folder in
      let hash = Hexadecimal.text(SHA256.hash(data: Data(secret.utf8)))
      try #"[{"id":"api","flows":[],"introspects":true,"secretSHA256":"\#(hash)"}]"#
        .write(toFile: folder + "/clients.json", atomically: true, encoding: .utf8)
      let port = try FreePort.find()
      let serving = try Child(
        [
          "serve", "--data", folder + "/data", "--port", "\(port)", "--rate-limits", "none", "--clients",
          folder + "/clients.json", "--until-stdin-ends",
        ], log: folder + "/serve.log")
      defer { serving.send(SIGKILL) }
      let server = try await within(.seconds(240), "the server's start") { try await serving.line() }

      let socket = folder + "/gate.sock"
      let (nginxPort, caddyPort) = (try FreePort.find(), try FreePort.find())
      let first = try gate(folder, server, policy, ["--listen", socket, "--headers", "original"], for: nginxPort)
      defer { first.send(SIGKILL) }
      #expect(try await within(.seconds(240), "the first gate") { try await first.line() } == socket)
      let second = try gate(
        folder, server, policy, ["--listen", "127.0.0.1:\(try FreePort.find())", "--headers", "forwarded"],
        for: caddyPort)
      defer { second.send(SIGKILL) }
      let gate = try await within(.seconds(240), "the second gate") { try await second.line() }
      #expect(await eventually { (try? await GateFixture.status(of: gate + "/health")) == 200 })

      try await Service.run { service in
        let proxies = [
          try program("nginx", ["-c", try nginxFile(folder, nginxPort, socket, service)], folder),
          try program("caddy", ["run", "--config", try caddyFile(folder, caddyPort, gate, service)], folder),
        ]
        defer { for proxy in proxies { proxy.terminate() } }
        let fixture = GateFixture(
          server: server, nginx: "http://127.0.0.1:\(nginxPort)", caddy: "http://127.0.0.1:\(caddyPort)", gate: gate,
          kill: { serving.send(SIGKILL) })
        for proxy in [fixture.nginx, fixture.caddy] {
          #expect(await eventually { (try? await GateFixture.status(of: proxy + "/open")) == 200 })
        }
        try await within(.seconds(1200), "the test") { try await body(fixture) }
      }
    }
  }

  private static func status(of address: String) async throws -> Int {
    try await AsyncHTTPTransport.shared.send(TransportRequest(method: "GET", url: address)).status
  }

  private static func gate(
    _ folder: String, _ server: String, _ policy: String, _ more: [String], for port: Int
  ) throws -> Child {
    try Child(
      [
        "gate", "--issuer", server, "--client-id", "api", "--when-lost", policy, "--first-party-clients", "handstamp",
        "--public-url", "http://127.0.0.1:\(port)", "--audience", "\(server),http://127.0.0.1:\(port)",
        "--resource-scopes", "read", "--log-level", "debug",
      ] + more, variables: ["HANDSTAMP_GATE_CLIENT_SECRET": secret], log: "\(folder)/gate-\(port).log")
  }

  static func program(_ name: String, _ arguments: [String], _ folder: String) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [name] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging([
      "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder,
    ]) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try Child.withUsualSignals { try process.run() }
    return process
  }

  /// The recipe of docs/gate.md, with a prefix and ports of the test's own.
  private static func nginxFile(_ folder: String, _ port: Int, _ socket: String, _ service: Int) throws -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
    let check = """
      internal;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header X-Original-URI $request_uri;
      proxy_set_header X-Original-Method $request_method;
      """
    let identity = """
      auth_request_set $subject $upstream_http_handstamp_subject;
      auth_request_set $session $upstream_http_handstamp_session;
      auth_request_set $client $upstream_http_handstamp_client;
      auth_request_set $scope $upstream_http_handstamp_scope;
      auth_request_set $expires_at $upstream_http_handstamp_expires;
      auth_request_set $challenge $upstream_http_www_authenticate;
      error_page 403 @forbidden;
      proxy_set_header Handstamp-Subject $subject;
      proxy_set_header Handstamp-Session $session;
      proxy_set_header Handstamp-Client $client;
      proxy_set_header Handstamp-Scope $scope;
      proxy_set_header Handstamp-Expires $expires_at;
      """
    let text = """
      daemon off;
      worker_processes 1;
      \(getuid() == 0 ? "user root;" : "")
      pid \(folder)/nginx.pid;
      error_log \(folder)/nginx.log;
      events {}
      http {
        access_log off;
        \(temporary.joined(separator: "\n"))
        server {
          listen 127.0.0.1:\(port);
          location /open { return 200; }
          location = /.well-known/oauth-protected-resource { proxy_pass http://unix:\(socket); }
          location / {
            auth_request /_gate;
            \(identity)
            proxy_pass http://127.0.0.1:\(service);
          }
          location /write {
            auth_request /_gate_write;
            \(identity)
            proxy_pass http://127.0.0.1:\(service);
          }
          location @forbidden {
            add_header WWW-Authenticate $challenge always;
            return 403;
          }
          location = /_gate { proxy_pass http://unix:\(socket):/verify; \(check) }
          location = /_gate_write { proxy_pass http://unix:\(socket):/verify?scope=write; \(check) }
        }
      }
      """
    try text.write(toFile: folder + "/nginx.conf", atomically: true, encoding: .utf8)
    return folder + "/nginx.conf"
  }

  private static func caddyFile(_ folder: String, _ port: Int, _ gate: String, _ service: Int) throws -> String {
    func check(_ uri: String) -> String {
      """
      route {
        request_header -Handstamp*
        forward_auth \(gate.dropFirst("http://".count)) {
          uri \(uri)
          copy_headers Handstamp-Subject Handstamp-Session Handstamp-Client Handstamp-Scope Handstamp-Expires
        }
        reverse_proxy 127.0.0.1:\(service)
      }
      """
    }
    let text = """
      {
        admin off
        auto_https off
      }
      http://127.0.0.1:\(port) {
        handle /open { 
          respond 200
        }
        handle /.well-known/oauth-protected-resource {
          reverse_proxy \(gate.dropFirst("http://".count))
        }
        handle /write* {
          \(check("/verify?scope=write"))
        }
        handle {
          \(check("/verify"))
        }
      }
      """
    try text.write(toFile: folder + "/Caddyfile", atomically: true, encoding: .utf8)
    return folder + "/Caddyfile"
  }
}

/// A service that answers which identity its proxy tells it.
private struct Service: HTTPResponder {
  static func run(_ body: (_ port: Int) async throws -> Void) async throws {
    let port = OneShot<Int>()
    let application = Application(
      responder: Service(), server: .sturdyHTTP1(),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { port.set($0.localAddress?.port ?? 0) },
      logger: Logger(label: "service") { _ in SwiftLogNoOpLogHandler() })
    let serving = Task { try await application.run() }
    defer { serving.cancel() }
    try await body(try await port.value())
  }

  @concurrent func respond(to request: Hummingbird.Request, context: BasicRequestContext) async throws -> Response {
    let names = ["Subject", "Session", "Client", "Scope", "Expires"].compactMap { HTTPField.Name("Handstamp-" + $0) }
    var text = names.map { request.headers[values: $0].joined(separator: "&") }.joined(separator: "|")
    // For CGI and WSGI these are the same fields.
    text += request.headers.map(\.name.canonicalName).filter {
      $0.hasPrefix("handstamp_") || $0.hasPrefix("handstamp.")
    }
    .joined()
    return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}
#endif
