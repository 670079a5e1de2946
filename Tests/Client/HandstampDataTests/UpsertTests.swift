#if Data
import GRDB
import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampData

@Suite(.timeLimit(.minutes(10))) struct `A fetched row` {
  private let folder: NewFolder
  private let store: DataStore
  private let noon = UnixTime(seconds: 1_800_000_000)

  init() throws {
    folder = try NewFolder()
    store = try folder.store()
  }

  private func put(_ values: [String: String?], at now: UnixTime, clearing: Set<String> = []) async throws -> Upserted {
    try await store.write { try Small.person.upsert($0, ["ada"], values, clearing: clearing, at: now) }
  }

  private func fetched() throws -> Int64? {
    try store.read { try Int64.fetchOne($0, sql: "SELECT fetched FROM shelf_person") }
  }

  @Test func `is stored once per key, and reports whether it changed`() async throws {
    let first = try await put(["title": "Countess"], at: noon)
    #expect(first.isChanged)
    let same = try await put(["title": "Countess"], at: noon.advanced(by: .seconds(5)))
    #expect(same == Upserted(id: first.id, isChanged: false))
    // It counts as fetched nevertheless.
    #expect(try fetched() == noon.advanced(by: .seconds(5)).milliseconds)
    let other = try await put(["title": "Enchantress"], at: noon)
    #expect(other == Upserted(id: first.id, isChanged: true))
    #expect(try fetched() == noon.advanced(by: .seconds(5)).milliseconds)
  }

  @Test func `does not erase values from an earlier page`() async throws {
    _ = try await put(["title": "Countess"], at: noon)
    for gap in [["title": nil], ["title": ""], [:]] as [[String: String?]] {
      let result = try await put(gap, at: noon)
      #expect(!result.isChanged)
    }
    let title = { try store.read { try String.fetchOne($0, sql: "SELECT title FROM person") } }
    #expect(try title() == "Countess")
    let cleared = try await put(["title": nil], at: noon, clearing: ["title"])
    #expect(cleared.isChanged)
    #expect(try title() == nil)
  }

  @Test func `needs a key`() async throws {
    await #expect(throws: (any Error).self) {
      try await store.write { try Small.person.upsert($0, [DatabaseValue.null], [:], at: noon) }
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `never loses a non-empty value, whatever the order of pages`(seed: UInt64) async throws {
    var random = SplitMix64(state: seed)
    var model: [Int: String] = [:]
    for step in 0..<60 {
      let number = Int.random(in: 1...5, using: &random)
      let text = [nil, "", "a", "b", "0", " "].randomElement(using: &random) ?? nil
      let now = noon.advanced(by: .seconds(step))
      let result = try await store.write { try Small.post.upsert($0, [number], ["text": text], at: now) }
      let isNew = !model.keys.contains(number)
      let isOther = !(text ?? "").isEmpty && model[number] != text
      #expect(result.isChanged == (isNew || isOther))
      if isNew || isOther { model[number] = text ?? "" }
      let mark = try store.read {
        try Int64.fetchOne($0, sql: "SELECT fetched FROM shelf_post WHERE row = ?", arguments: [result.id])
      }
      #expect(mark == now.milliseconds)
    }
    let rows = try store.read { database in
      try Row.fetchAll(database, sql: "SELECT number, coalesce(text, '') AS text FROM post")
        .map { ($0["number"] as Int, $0["text"] as String) }
    }
    #expect(Dictionary(uniqueKeysWithValues: rows) == model)
  }
}
#endif
