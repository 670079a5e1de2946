#if Programs
import HandstampCore
import HandstampServer
import HandstampSupport
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator
@testable import HandstampTour

/// A host with one response at every path.
private struct AssociationHost: HTTPResponder {
  typealias Context = WireContext
  var status = HTTPResponse.Status.ok
  var type = "application/json"
  var body: String

  @concurrent func respond(to request: Request, context: WireContext) async throws -> Response {
    var headers: HTTPFields = [.contentType: type]
    if status.kind == .redirection { headers[.location] = "https://www.example.org/" }
    return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: body)))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The file that names apps` {
  private static let app = "ABCDE12345.org.example.forum"
  private static let file = #"{"webcredentials":{"apps":["ABCDE12345.org.example.forum"]}}"#
  private static let android = "org.example.forum=" + [String](repeating: "0A", count: 32).joined(separator: ":")

  private static let refused: [(AssociationHost, String)] = [
    (AssociationHost(status: .movedPermanently, body: ""), "redirects to https://www.example.org/"),
    (AssociationHost(type: "application/octet-stream", body: file), "content type \"application/octet-stream\""),
    (AssociationHost(type: "text/html", body: "<html></html>"), "is a page for people"),
    (AssociationHost(type: "application/json", body: "<!doctype html>"), "is a page for people"),
    (AssociationHost(body: "[]"), "is not a file of this kind"), (AssociationHost(body: "{"), "is not a file"),
    (AssociationHost(status: .badGateway, body: ""), "answers with status 502"),
    (AssociationHost(body: file + String(repeating: " ", count: 128 * 1024)), "longer than 128 KiB"),
  ]

  @Test(arguments: refused.indices)
  func `is refused as Apple's servers refuse it by the check of the settings, and not told by doctor`(
    index: Int
  ) async throws {
    let (host, words) = Self.refused[index]
    try await host.serving { address in
      let findings = await AppAssociation.findings(
        at: try ServerAddress(parsing: address), over: CommandTransport.shared)
      #expect(findings.isEmpty, "\(findings)")
      let warnings = try await settings(address, ["apple-apps": Self.app]).missingAssociations(CommandTransport.shared)
      #expect(warnings.count == 1)
      #expect(warnings.first?.warning.contains(words) == true, "\(warnings)")
      #expect(
        warnings.first?.hint.contains(
          "location = /.well-known/apple-app-site-association { proxy_pass http://127.0.0.1:8080; }") == true,
        "\(warnings)")
    }
  }

  @Test func `has to name the app`() async throws {
    try await AssociationHost(body: Self.file).serving { address in
      func warnings(_ apps: String) async throws -> [String] {
        try await settings(address, ["apple-apps": apps]).missingAssociations(CommandTransport.shared).map(\.warning)
      }
      #expect(try await warnings(Self.app).isEmpty)
      let others = try await warnings("\(Self.app),ABCDE12345.org.example.wiki")
      #expect(others.count == 1 && others[0].hasSuffix("does not name ABCDE12345.org.example.wiki"), "\(others)")
      let findings = await AppAssociation.findings(
        at: try ServerAddress(parsing: address), over: CommandTransport.shared)
      #expect(findings.first { $0.check == "apple_apps" }?.level == .ok)
      #expect(findings.first { $0.check == "apple_apps" }?.words.hasSuffix("names \(Self.app)") == true)
    }
  }

  @Test func `has to name the app with its certificate on Android`() async throws {
    let print = String(Self.android.drop { $0 != "=" }.dropFirst())
    let file = """
      [{"relation": ["delegate_permission/common.get_login_creds"], "target": {"namespace": "android_app",
      "package_name": "org.example.forum", "sha256_cert_fingerprints": ["\(print.lowercased())"]}},
      {"relation": ["delegate_permission/common.handle_all_urls"], "target": {"namespace": "android_app",
      "package_name": "org.example.wiki", "sha256_cert_fingerprints": ["\(print)"]}}]
      """
    try await AssociationHost(body: file).serving { address in
      let origin = try #require(Origin(address))
      #expect(
        await AppAssociation(system: .android, origin: origin).outcome(CommandTransport.shared) == .apps([Self.android])
      )
      let settings = try settings(address, ["android-apps": Self.android])
      #expect(await settings.missingAssociations(CommandTransport.shared).isEmpty)
      let other = try self.settings(address, ["android-apps": Self.android.replacing("0A", with: "0B")])
      #expect(await other.missingAssociations(CommandTransport.shared).count == 1)
    }
  }

  @Test func `may be missing where no apps are set`() async throws {
    try await AssociationHost(status: .notFound, body: "").serving { address in
      let findings = await AppAssociation.findings(
        at: try ServerAddress(parsing: address), over: CommandTransport.shared)
      #expect(findings.isEmpty, "doctor is silent without an app")
      #expect(try await settings(address, [:]).missingAssociations(CommandTransport.shared).isEmpty)
      let missing = try await settings(address, ["apple-apps": Self.app]).missingAssociations(CommandTransport.shared)
      #expect(missing.map(\.warning) == ["\(address)/.well-known/apple-app-site-association is missing"])
    }
  }

  @Test func `is not fetched without TLS`() async throws {
    let origin = try #require(Origin("http://id.example.org"))
    #expect(
      await AppAssociation(system: .apple, origin: origin).outcome(CommandTransport.shared)
        == .refused("is without TLS"))
  }

  private func settings(_ issuer: String, _ flags: [String: String]) throws -> ServeSettings {
    try ServeSettings(flags: ["data": "/x", "issuer": issuer].merging(flags) { $1 }, environment: [:], file: nil)
  }
}
#endif
