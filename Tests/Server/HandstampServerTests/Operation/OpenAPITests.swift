#if Programs
import Foundation
import HTTPTypes
import HandstampCore
import Hummingbird
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The OpenAPI document` {
  /// Each documented route exists, and each route is documented.
  @Test(arguments: [false, true]) func `has the server's routes`(isFull: Bool) async throws {
    let token = Secret(String(repeating: "x", count: 32))
    let administrators = isFull ? [try Administrator(name: "ada", token: token)] : []
    let (apple, android) = (try #require(AppleApp("ABCDE12345.org.example.forum")), try TestApps.android())
    try await TestServer.run {
      $0.administrators = administrators
      $0.appleApps = isFull ? [apple] : []
      $0.androidApps = isFull ? [android] : []
      $0.clientRegistration = isFull ? StrangerRights(scopes: ["profile"]) : nil
    } body: { test async throws in
      let router = Router(context: ServerContext.self)
      test.server.addRoutes(to: router)
      let routes = Set(router.routes.map(\.description))
      let answer = try await test.client.get("/openapi.json")
      #expect(answer.json["openapi"] == "3.1.0")
      let paths = answer.json[object: "paths"]
      let documented = Set(
        paths.fields.keys.flatMap { path in
          paths[object: path].fields.keys.map { "\($0.uppercased()) \(path)" }
        })
      #expect(documented == routes)
    }
  }

  @Test func `refers to what it has, and has what it refers to`() async throws {
    let administrator = try Administrator(name: "ada", token: Secret(String(repeating: "x", count: 32)))
    try await TestServer.run {
      $0.administrators = [administrator]
    } body: { test async throws in
      let text = try await test.client.get("/openapi.json").text
      for kind in ["schemas", "responses"] {
        let reference = try Regex(##""\$ref":"#/components/\##(kind)/(\w+)""##, as: (Substring, Substring).self)
        let names = Set(text.matches(of: reference).map { String($0.output.1) })
        let components = try await test.client.get("/openapi.json").json[object: "components"][object: kind].fields.keys
        #expect(!names.isEmpty && names == Set(components), "\(kind)")
      }
    }
  }

  @Test func `says of every route whether it takes a token`() async throws {
    let administrator = try Administrator(name: "ada", token: Secret(String(repeating: "x", count: 32)))
    try await TestServer.run {
      $0.administrators = [administrator]
    } body: { test async throws in
      let document = try OpenAPIDocument(for: test.server.configuration)
      let guarded = Set(try ["bearer", "administrator"].flatMap { try document.operations(under: $0) })
      for operation in document.operations {
        let path = operation.path.replacing(/\{\w+\}/, with: "x")
        let answer = try await Browser(test.client.base).send(operation.method, path)
        let isRefused = answer.status == 401 && answer.text.contains("token_missing")
        #expect(isRefused == guarded.contains(operation), "\(operation): \(answer.status)")
      }
    }
  }

  @Test func `names each operation once`() throws {
    let ids = try OpenAPIDocument(for: ServerConfiguration()).operations.map(\.id)
    #expect(!ids.contains(""))
    #expect(Set(ids).count == ids.count)
  }

  /// A newer client may send more than this server knows.
  @Test func `lets requests have members of newer versions`() async throws {
    try await TestServer.run { test async throws in
      let body = TestServer.signUpBody("ada@example.org").dropLast() + #", "locale": "de", "more": {"a": [1]}}"#
      #expect(try await test.client.post("/v1/sign-up", json: String(body)).status == 201)
      let nested = #"{"device":{"id":"d","name":"n","platform":"p","model":"m"}}"#
      #expect(try await test.client.post("/v1/sign-in/anonymous", json: nested).status == 201)
    }
  }
}

extension OpenAPIDocument {
  /// The members of the successful response to an operation, such as `get /v1/me`.
  func members(of operation: String) throws -> Set<String> {
    let document = try JSONSerialization.jsonObject(with: Data(bytes())) as? [String: Any] ?? [:]
    func find(_ value: Any?, _ path: some Sequence<Substring>) -> Any? {
      path.reduce(value) { ($0 as? [String: Any])?[String($1)] }
    }
    func members(_ schema: Any?) -> Set<String> {
      guard let schema = schema as? [String: Any] else { return [] }
      if let reference = schema["$ref"] as? String {
        return members(find(document, reference.split(separator: "/").dropFirst()))
      }
      let parts = ["allOf", "oneOf", "anyOf"].flatMap { schema[$0] as? [Any] ?? [] }
      let own = (schema["properties"] as? [String: Any] ?? [:]).keys
      return parts.reduce(into: Set(own)) { $0.formUnion(members($1)) }
    }
    let (method, path) = (operation.prefix { $0 != " " }, operation.drop { $0 != " " }.dropFirst())
    var response = find(document, ["paths", path, method, "responses", "200"])
    if let reference = find(response, ["$ref"]) as? String {
      response = find(document, reference.split(separator: "/").dropFirst())
    }
    return members(find(response, ["content", "application/json", "schema"]))
  }

  /// The operations that accept credentials of a scheme.
  func operations(under scheme: String) throws -> [Operation] {
    let document = try JSONSerialization.jsonObject(with: Data(bytes())) as? [String: Any]
    let paths = document?["paths"] as? [String: [String: [String: Any]]] ?? [:]
    return operations.filter { operation in
      let security = paths[operation.path]?[operation.method.lowercased()]?["security"] as? [[String: Any]] ?? []
      return security.contains { $0[scheme] != nil }
    }
  }
}
#endif
