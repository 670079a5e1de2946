import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `The row of an account` {
  /// A row as a database returns it.
  private struct Row: ColumnSource {
    var values: [(name: String, value: ColumnValue)]
    var count: Int { values.count }
    func name(at index: Int) -> String? { values[index].name }
    func value(at index: Int) -> ColumnValue? { values[index].value }

    init(_ record: AccountRecord) throws {
      let names = AccountRecord.columns.split(separator: ", ").map { String($0) }
      values = zip(names, try record.storedValues()).map { name, value in
        switch value {
        case .integer(let number): (name, number.map { .integer($0) } ?? .null)
        case .text(let text): (name, text.map { .text($0) } ?? .null)
        case .bytes(let bytes): (name, bytes.map { .bytes($0) } ?? .null)
        }
      }
    }
  }

  private let full = AccountRecord(
    id: AccountID("ada"), email: EmailAddress(" Ada@Example.ORG "),
    identity: ExternalIdentity(issuer: "https://id.example", subject: "1"), username: "Ada",
    passwordHash: Secret("$argon2id$"), createdAt: UnixTime(milliseconds: 1),
    credentialsChangedAt: UnixTime(milliseconds: 2), closedAt: UnixTime(milliseconds: 3),
    emailConfirmedAt: UnixTime(milliseconds: 4), locale: LanguageTag(rawValue: "pt-BR"), revision: 5)

  @Test func `has a column of each property`() throws {
    for property in Mirror(reflecting: full).children {
      #expect("\(property.value)" != "nil", "give \(property.label ?? "") a value here")
    }
    let row = try Row(full)
    #expect(row.count == AccountRecord.columnCount)
    #expect(try AccountRecord(source: row) == full)
    let bare = AccountRecord(
      id: AccountID("guest"), email: nil, username: "", passwordHash: nil, createdAt: UnixTime(milliseconds: 0))
    #expect(try AccountRecord(source: try Row(bare)) == bare)
  }

  @Test func `is replaced but for its ID and its beginning`() throws {
    let sql = AccountRecord.replacement(schema: "handstamp.", mark: "$")
    let values = full.replacement(expecting: 7)
    #expect(sql.hasPrefix("UPDATE handstamp.account SET email = $3, "))
    #expect(sql.contains(" = $\(values.count), revision = revision + 1\nWHERE id = $1 AND revision = $2"))
    #expect(values.prefix(2) == [.text("ada"), .integer(7)])
    #expect(try Array(values.dropFirst(2)) == Array(full.storedValues().dropFirst(2).dropLast()))
  }

  @Test func `that was edited by hand is an error that names the column`() throws {
    for (name, value) in [
      ("identity", ColumnValue.text("no key")), ("username", .null), ("closed_at", .text("now")),
      ("locale", .text("no tag")),
      ("revision", .null),
    ] {
      var row = try Row(full)
      let index = try #require(row.values.firstIndex { $0.name == name })
      row.values[index].value = value
      #expect(throws: DescribedError.unreadable(column: name)) { try AccountRecord(source: row) }
    }
  }

  @Test(
    arguments: [
      ("de", true), ("pt-BR", true), ("zh-Hant-TW", true), ("sl-rozaj-1994", true), ("de-x-mine", true),
      ("", false), ("e", false), ("x-mine", false), ("de_DE", false), ("de-", false), ("-de", false), ("de--DE", false),
      ("de-x", false), ("d3", false), ("abcdefghi", false), ("de-abcdefghi", false), ("dé", false), ("de CH", false),
      (String(repeating: "ab-", count: 11) + "ab", true), (String(repeating: "ab-", count: 11) + "abc", false),
    ] as [(String, Bool)])
  func `has a language by a tag of the right form alone`(text: String, isTag: Bool) {
    #expect((LanguageTag(rawValue: text)?.rawValue == text) == isTag)
  }
}
