#if Programs
import Foundation
import Handstamp
import HandstampServer
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

@Suite(.timeLimit(.minutes(10))) struct `A duration on the command line` {
  @Test(arguments: [
    ("500ms", Duration.milliseconds(500)), ("0s", .zero), ("60s", .seconds(60)), ("5m", .seconds(300)),
    ("12h", .seconds(43_200)), ("30d", .seconds(2_592_000)),
  ])
  func `needs a unit`(text: String, duration: Duration) {
    #expect(Span(argument: text)?.duration == duration)
  }

  @Test(arguments: ["", "5", "s", "-5s", "5 s", "5S", "5.5s", "99999999999s", "٣s"])
  func `rejects anything else`(text: String) {
    #expect(Span(argument: text) == nil)
  }

  @Test(arguments: [
    (Duration.milliseconds(70), "70 ms"), (.seconds(59), "59 s"), (.seconds(552), "9 min 12 s"),
    (.seconds(600), "10 min"), (.seconds(5400), "1 h 30 min"), (.seconds(90_000), "1 d 1 h"), (.seconds(-3), "0 s"),
  ])
  func `is printed in at most two units`(duration: Duration, words: String) {
    #expect(duration.words == words)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A server's address` {
  private let address = try? ServerAddress(parsing: "https://id.example.org/auth/")

  @Test func `drops a trailing slash`() {
    #expect(address?.text == "https://id.example.org/auth")
  }

  @Test(arguments: ["https://id.example.org/x", "HTTPS://ID.example.org:443/", "https://id.example.org"])
  func `covers its own origin`(url: String) {
    #expect(address?.covers(url) == true)
  }

  @Test(arguments: [
    "http://id.example.org/", "https://id.example.org:8443/", "https://example.org/",
    "https://id.example.org.evil.org/",
    "https://id.example.org@evil.org/", "https://user@id.example.org/", "//id.example.org/", "",
    "javascript://id.example.org/",
  ])
  func `covers no other origin`(url: String) {
    #expect(address?.covers(url) == false)
  }

  @Test func `may use plain HTTP on this machine only`() {
    for text in ["http://127.0.0.1:80", "http://localhost", "http://[::1]:8080"] {
      #expect(throws: Never.self) { try ServerAddress(parsing: text) }
    }
    for text in ["http://example.org", "http://192.168.0.1", "http://localhost.example.org"] {
      #expect(throws: CommandError.self) { try ServerAddress(parsing: text) }
      #expect(throws: Never.self) { try ServerAddress(parsing: text, allowingClearText: true) }
    }
  }

  @Test func `resolves paths and refuses other origins`() throws {
    let address = try #require(address)
    #expect(try address.address(of: "/v1/me") == "https://id.example.org/auth/v1/me")
    #expect(try address.address(of: "v1/me?x=y") == "https://id.example.org/auth/v1/me?x=y")
    #expect(try address.address(of: "https://id.example.org/other") == "https://id.example.org/other")
    #expect(throws: CommandError.self) { try address.address(of: "https://evil.org/") }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A scan for secrets` {
  private let token = "hst1.k1.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
  private let jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlIG9mIHRoZSB0b2tlbiBoZXJl"

  @Test func `finds them whole, in parts, and decoded`() {
    let scan = SecretScan([token, jwt, "password-1"])
    #expect(scan.finds(in: Array("xx\(token)yy".utf8)))
    #expect(scan.finds(in: Array("xx\(jwt)".utf8)))
    #expect(scan.finds(in: Array("{\"p\":\"password-1\"}".utf8)))
    #expect(scan.finds(in: [9, 9] + (0..<32)))
    #expect(scan.finds(in: Array("signature of the token here".utf8)))
  }

  @Test func `ignores parts that all tokens share`() {
    let scan = SecretScan([token, jwt])
    #expect(!scan.finds(in: Array("eyJhbGciOiJFUzI1NiJ9.other".utf8)))
    #expect(!scan.finds(in: Array(#"{"alg":"ES256"}"#.utf8)))
    #expect(!scan.finds(in: Array(0..<31)))
    #expect(!scan.finds(in: []))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Words` {
  @Test(arguments: [
    ("The password is wrong.", "the password is wrong"), ("JSON is missing", "JSON is missing"),
    ("Two\nlines..", "two lines"), ("", ""), ("already plain", "already plain"),
  ])
  func `from elsewhere lose capital and full stop`(sentence: String, words: String) {
    #expect(plain(sentence) == words)
  }

  @Test func `are aligned in columns`() {
    #expect(Table(rows: [["a", "long", "x"], ["bb", "b", ""]]).lines == ["a   long  x", "bb  b     "])
  }

  @Test func `of a list are members for programs, without nil, and columns for people`() throws {
    struct Item {
      var id: Int
      var note: String?
      var names: [String] = []
    }
    let columns: [Column<Item>] = [
      Column("note", as: "NOTE", none: "none", \.note), Column("secret", \.note), Column("id", as: "ID", \.id),
      Column("names", as: "NAMES", shown: { $0.names.joined(separator: "+") }, \.names),
    ]
    let items = [Item(id: 1), Item(id: 22, note: "x", names: ["a", "b"])]
    #expect(Table(items, columns).lines == ["NOTE  ID  NAMES", "none  1   ", "x     22  a+b"])
    let next: String? = nil
    let answer: JSONObject = ["items": items.objects(columns), "next": next, "done": true]
    #expect(
      String(decoding: try answer.jsonBytes(), as: UTF8.self)
        == #"{"done":true,"items":[{"id":1,"names":[]},{"id":22,"names":["a","b"],"note":"x","secret":"x"}]}"#)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An account's name on the command line` {
  private let server = "https://id.example.org"

  private func account(_ id: String, _ name: String, tag: String? = nil) -> ListedAccount {
    ListedAccount(
      id: ListedAccount.id(of: AccountID(id), at: server), name: name, tag: tag, server: server,
      addedAt: UnixTime(milliseconds: 0))
  }

  private func known(_ accounts: [ListedAccount], active: Int? = nil) async throws -> KnownAccounts {
    let folder = NSTemporaryDirectory() + "handstamp-test-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let home = Home(path: folder)
    for account in accounts { _ = try await home.accounts.edit(.add(account)).get() }
    if let active { _ = try await home.accounts.edit(.activate(accounts[active].id)).get() }
    return try await KnownAccounts(of: home)
  }

  @Test func `is a tag first, then an ID, then a name, then the start of an address`() async throws {
    let all = [
      account("1", "ada@example.org", tag: "work"), account("work", "bob@example.org"),
      account("3", "1"), account("4", "work@example.org"),
    ]
    let known = try await known(all)
    #expect(try known.account("work").id == all[0].id)
    #expect(try known.account("1").id == all[0].id, "an ID takes precedence over a name")
    #expect(try known.account("4").id == all[3].id)
    #expect(try known.account("BOB@example.org").id == all[1].id)
    #expect(try known.account("ada").id == all[0].id)
    #expect(try known.account(all[3].id.rawValue).id == all[3].id)
    #expect(throws: CommandError.self) { try known.account("exam") }
    #expect(throws: CommandError.self) { try known.account("Work@") }
  }

  @Test func `never means an account without a valid server`() async throws {
    var lost = account("2", "bob@example.org")
    lost.server = "nowhere"
    let known = try await known([account("1", "ada@example.org"), lost], active: 1)
    #expect(known.accounts.map(\.name) == ["ada@example.org"] && known.active == nil)
    #expect(throws: CommandError.self) { try known.account("bob") }
    #expect(throws: CommandError.self) { try known.account(nil) }
  }

  @Test func `defaults to the active account`() async throws {
    let all = [account("1", "ada@example.org"), account("2", "bob@example.org")]
    #expect(try await known(all, active: 1).account(nil).id == all[1].id)
    let none = try await known([])
    #expect(throws: CommandError.notSignedIn) { try none.account(nil) }
  }
}
#endif
