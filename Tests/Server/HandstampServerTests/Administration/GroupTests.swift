#if Programs
import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Groups of an account` {
  private func put(_ groups: String, _ account: String, _ admin: AdministeredServer) async throws -> WireClient.Answer {
    try await admin.test.client.send(
      "PUT", "/admin/v1/accounts/\(account)/groups", token: AdministeredServer.token,
      headers: ["Content-Type": "application/json"], body: Array(#"{"groups": \#(groups)}"#.utf8))
  }

  @Test func `are what an administrator says, each change in the audit log`() async throws {
    try await AdministeredServer.run { admin, test in
      let ada = try await test.signUp().account
      #expect(try await admin.get("/accounts/\(ada)/groups").json["groups"] == [String]())
      #expect(try await put(#"["staff", "ops:night", "staff"]"#, ada, admin).json["groups"] == ["ops:night", "staff"])
      #expect(try await put(#"["ops:night", "staff"]"#, ada, admin).status == 200)
      #expect(try await put(#"["staff"]"#, ada, admin).json["groups"] == ["staff"])
      #expect(try await admin.get("/accounts/\(ada)/groups").json["groups"] == ["staff"])
      let entries = try await admin.changes().filter { $0["action"] == "account.groups_changed" }
      #expect(entries.count == 2, "an unchanged list is no change")
      #expect(try await put(#"["staff"]"#, "acc_unknown", admin).status == 404)
      for bad in [
        #"["two words"]"#, #"["a,b"]"#, #"[""]"#, #"["a\u0007"]"#, #"["a\u202eb"]"#, "[1]", #""staff""#, "null",
      ] {
        #expect(try await put(bad, ada, admin).status == 400, "\(bad)")
      }
      let many = "[" + (0...Registry.mostGroups).map { "\"g\($0)\"" }.joined(separator: ",") + "]"
      #expect(try await put(many, ada, admin).status == 400)
      #expect(try await admin.get("/accounts/\(ada)/groups").json["groups"] == ["staff"])
    }
  }

  @Test func `go with the account`() async throws {
    try await AdministeredServer.run { admin, test in
      let ada = try await test.signUp().account
      _ = try await put(#"["staff"]"#, ada, admin)
      #expect(try await admin.send("DELETE", "/accounts/\(ada)").status == 200)
      #expect(try await test.server.registry.groups(of: AccountID(ada)).isEmpty)
      #expect(try await put(#"["staff"]"#, ada, admin).status == 409)
    }
  }

  @Test func `lose none of two changes at once`() async throws {
    try await AdministeredServer.run { admin, test in
      let ada = AccountID(try await test.signUp().account)
      let administration = test.server.administration(by: .server())
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<6 {
          group.addTask { try await administration.changeGroups(of: ada) { $0.insert("g\(index)") } }
        }
        try await group.waitForAll()
      }
      #expect(try await administration.groups(of: ada) == (0..<6).map { "g\($0)" })
    }
  }

  /// The scope decides who may see them.
  @Test func `are in ID tokens and userinfo of clients with the scope, from the next token on`() async throws {
    let client = try ConfiguredClient(
      id: "cluster", secretHash: ConfiguredClient.hash(of: Secret(TestServer.secret)),
      redirectURIs: ["https://cluster.example.org/cb"], scopes: ["openid", "email", "groups"])
    try await TestServer.runOpenID(adding: [client]) { test in
      let basic = TestServer.basic("cluster", TestServer.secret)
      let app = OAuthApp.party("cluster", scope: "openid groups")
      let first = try await app.tokens(Browser(test.client.base), at: test)
      #expect(first.claims("id_token")["groups"] as [String]? == nil, "left out without a value")
      let email = try #require(EmailAddress("ada@example.org"))
      let ada = try #require(try await test.server.registry.account(email: email))
      try await test.server.administration(by: .server()).changeGroups(of: ada.id) { $0 = ["staff", "ops"] }
      let again = try await app.refresh(first.json["refresh_token"] ?? "", at: test, headers: basic)
      #expect(again.claims("id_token")["groups"] == ["ops", "staff"])
      let token: String = try #require(again.json["access_token"])
      #expect(try await test.client.get("/oauth/userinfo", token: token).json["groups"] == ["ops", "staff"])
      let less = try await OAuthApp.party("cluster", scope: "openid email").tokens(Browser(test.client.base), at: test)
      #expect(less.claims("id_token")["groups"] as [String]? == nil)
      let blind: String = try #require(less.json["access_token"])
      #expect(try await test.client.get("/oauth/userinfo", token: blind).json["groups"] as [String]? == nil)
    }
  }
}
#endif
