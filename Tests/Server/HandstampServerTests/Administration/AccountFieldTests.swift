#if Programs
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `What is shown of an account` {
  private let hash = "$2b$06$abcdefghijklmnopqrstuuAbcdefghijklmnopqrstuvwxyzABCDE"
  private var full: AccountRecord {
    AccountRecord(
      id: AccountID("ada"), email: EmailAddress("ada@example.org"),
      identity: ExternalIdentity(issuer: "https://id.example", subject: "1"), username: "Ada",
      passwordHash: Secret(hash), createdAt: UnixTime(milliseconds: 1001),
      credentialsChangedAt: UnixTime(milliseconds: 2002),
      closedAt: UnixTime(milliseconds: 3003), emailConfirmedAt: UnixTime(milliseconds: 4004),
      locale: LanguageTag(rawValue: "pt-BR"),
      revision: 5)
  }

  /// The places that show each property.
  private let shown: [String: Set<AccountField.Place>] = [
    "id": [.profile, .me, .admin, .page, .command, .column, .row],
    "email": [.admin, .moving, .emailClaims, .page, .command, .column, .row],
    "emailConfirmedAt": [.admin, .moving, .emailClaims],
    "identity": [.profile, .admin, .moving, .command, .row],
    "username": [.profile, .admin, .moving, .profileClaims, .page, .command, .column, .row],
    "passwordHash": [.admin, .moving, .command, .row],
    "createdAt": [.me, .admin, .moving, .page, .command, .column, .row],
    "credentialsChangedAt": [.admin, .moving],
    "closedAt": [.admin, .moving, .command, .column, .row],
    "locale": [.me, .admin, .moving, .profileClaims, .command, .row],
    "revision": [],
  ]

  @Test func `is decided for each property and each place`() {
    for property in Mirror(reflecting: full).children.compactMap(\.label) {
      let places = AccountField.all.filter { $0.property == property }.flatMap(\.names.keys)
      #expect(shown[property] == Set(places), "\(property)")
    }
  }

  /// An import that forgets a property of the export loses it for everyone who moves.
  @Test func `comes back by an import from the export`() throws {
    let stage = try ImportStage()
    let line = String(decoding: ArrivingAccount(full, keepsID: true).line, as: UTF8.self)
    let read = try #require(try stage.read(line, .handstamp).first)
    let back = try read.arriving(in: stage.registry, at: ImportStage.now).account.record
    var expected = full
    expected.revision = back.revision
    #expect(back == expected)
    for property in Mirror(reflecting: full).children {
      #expect("\(property.value)" != "nil", "give \(property.label ?? "") a value here")
    }
  }

  @Test func `is documented as a member of the responses that have it`() throws {
    let document = try OpenAPIDocument(for: ServerConfiguration())
    for (operation, names) in [
      ("get /v1/me", AccountMembers.me.names), ("get /oauth/userinfo", AccountClaims.names),
      ("post /oauth/introspect", AccountClaims.names),
    ] {
      let missing = Set(names).subtracting(try document.members(of: operation))
      #expect(missing.isEmpty, "\(operation): \(missing)")
    }
  }

  @Test func `has these names in each place`() {
    func text(_ places: AccountMembers..., of account: AccountRecord? = nil) -> String {
      var json = JSONText()
      for place in places { place.add(account ?? full, to: &json) }
      return json.text
    }
    #expect(text(.profile) == #"{"id":"ada","name":"Ada","is_anonymous":false}"#)
    #expect(
      text(.me) == #"{"sub":"ada","created_at":"1970-01-01T00:00:01Z","created_at_ms":1001,"locale":"pt-BR"}"#)
    #expect(
      text(.admin)
        == #"{"id":"ada","state":"disabled","email":"ada@example.org","username":"Ada","is_guest":false,"#
        + #""has_password":true,"created_at":"1970-01-01T00:00:01Z","created_at_ms":1001,"#
        + #""credentials_changed_at":"1970-01-01T00:00:02Z","email_confirmed_at":"1970-01-01T00:00:04Z","#
        + #""closed_at":"1970-01-01T00:00:03Z","identity":{"issuer":"https://id.example","subject":"1"},"#
        + #""locale":"pt-BR"}"#)
    #expect(
      text(.moving)
        == #"{"email":"ada@example.org","email_verified":true,"name":"Ada","password_hash":"\#(hash)","#
        + #""created_at":"1970-01-01T00:00:01.001Z","password_changed_at":"1970-01-01T00:00:02.002Z","#
        + #""email_verified_at":"1970-01-01T00:00:04.004Z","disabled":true,"#
        + #""disabled_at":"1970-01-01T00:00:03.003Z","identity":{"issuer":"https://id.example","subject":"1"},"#
        + #""locale":"pt-BR"}"#)
    #expect(
      text(.profileClaims, .emailClaims)
        == #"{"name":"Ada","preferred_username":"Ada","locale":"pt-BR","email":"ada@example.org","#
        + #""email_verified":true}"#)
    let bare = AccountRecord(
      id: AccountID("guest"), email: nil, username: "", passwordHash: nil, createdAt: UnixTime(milliseconds: 0))
    #expect(text(.profileClaims, of: bare) == "{}")
    #expect(text(.profile, of: bare) == #"{"id":"guest","name":"","is_anonymous":true}"#)
  }
}
#endif
