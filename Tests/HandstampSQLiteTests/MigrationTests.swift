#if SQLite
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A database of an earlier version` {
  /// The tables as the first version created them. Never change this.
  private static let first = """
    CREATE TABLE instance (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      id TEXT NOT NULL
    ) STRICT;

    CREATE TABLE key_check (
      kid TEXT NOT NULL PRIMARY KEY,
      value BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE account (
      id TEXT NOT NULL PRIMARY KEY,
      email TEXT UNIQUE,
      email_typed TEXT,
      username TEXT NOT NULL,
      password_hash BLOB,
      created_at INTEGER NOT NULL,
      closed_at INTEGER,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE session (
      id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
      account TEXT NOT NULL REFERENCES account (id),
      device_id TEXT NOT NULL,
      device_name TEXT NOT NULL,
      platform TEXT NOT NULL,
      kind TEXT NOT NULL,
      counter INTEGER NOT NULL,
      ring BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      rotated_at INTEGER NOT NULL,
      last_seen_at INTEGER NOT NULL,
      ended_at INTEGER,
      end_reason TEXT,
      absolute_expiry INTEGER,
      idle_limit INTEGER,
      expiry INTEGER,
      dpop_thumbprint TEXT,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- A device has one session of an account at a time; also finds the sessions of an account.
    CREATE UNIQUE INDEX session_device ON session (account, device_id) WHERE ended_at IS NULL;
    CREATE INDEX session_expiry ON session (expiry) WHERE ended_at IS NULL AND expiry IS NOT NULL;

    -- AUTOINCREMENT: no id is given twice, even after the newest event was deleted.
    CREATE TABLE event (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      kind TEXT NOT NULL,
      account TEXT NOT NULL,
      session TEXT,
      reason TEXT,
      at INTEGER NOT NULL
    ) STRICT;

    CREATE INDEX event_account ON event (account, id);
    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
    INSERT INTO grdb_migrations VALUES ('1');
    INSERT INTO account VALUES
      ('ada', 'ada@example.org', 'Ada@example.org', 'Ada', x'24', 1800000000000, NULL, 3),
      ('guest', NULL, NULL, 'G', NULL, 1800000000000, NULL, 0);
    INSERT INTO session VALUES
      (x'000102030405060708090a0b0c0d0e0f', 'ada', 'd1', 'Phone', 'ios', 'keyed', 0, x'', 1800000000000, 1800000000000,
        1800000000000, NULL, NULL, 1800001000000, 500000, 1800000500000, NULL, 7),
      (x'010102030405060708090a0b0c0d0e0f', 'ada', 'd1', 'Phone', 'ios', 'keyed', 0, x'', 1800000000000, 1800000000000,
        1800000000000, 1800000000001, 'replaced', NULL, NULL, NULL, NULL, 1);
    INSERT INTO event (kind, account, session, reason, at) VALUES
      ('session-established', 'ada', 'AAECAwQFBgcICQoLDA0ODw', NULL, 1800000000000);
    """

  @Test func `is read, written and pruned like a current one`() async throws {
    let folder = try Folder()
    // The keys of a server that was in use.
    let (fresh, keys) = try folder.server.open()
    try fresh.close()
    for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.server.databasePath + end) }
    do {
      let old = try DatabaseQueue(path: folder.server.databasePath)
      try await old.write { db in
        try db.execute(sql: Self.first)
        try db.execute(sql: "INSERT INTO instance VALUES (1, ?)", arguments: [keys.instance.rawValue])
      }
      try old.close()
    }
    let store = try folder.server.open().store
    // The last time is the latest one stored, not only the newest event's.
    let note = try #require(try await store.clockNote())
    let seen = try #require(try await store.sessions(of: AccountID("ada")).map(\.lastSeenAt).max())
    #expect(
      note.at == max(seen, try #require(try await store.events(after: .zero, account: nil, limit: 9).last).event.at))
    #expect(note.doubtedSince == nil)
    var account = try #require(try await store.account(email: "ada@example.org"))
    #expect(account.revision == 3)
    #expect(account.identity == nil)
    #expect(account.passwordHash == Secret("$"))
    #expect(try await store.account(AccountID("guest"))?.isGuest == true)
    var row = try #require(try await store.sessions(of: account.id).first)
    #expect(row.revision == 7)
    #expect(row.pushToken == nil)
    #expect(row.methods == [] && row.persistence == .persistent)
    #expect(row.device.name == "Phone")
    row.pushToken = Secret("push")
    row.methods = .passwordAndCode
    account.identity = ExternalIdentity(issuer: "https://a.example", subject: "1")
    let record = OneTimeTokenRecord(
      id: OneTimeTokenID(of: Secret("s"), purpose: .passwordReset), purpose: .passwordReset, subject: "ada",
      createdAt: start,
      expiresAt: start)
    try await store.write(
      [
        .replaceSession(row, expecting: 7), .replaceAccount(account, expecting: 3), .createOneTimeToken(record),
      ], events: [])
    #expect(try await store.session(row.id)?.pushToken == Secret("push"))
    #expect(try await store.session(row.id)?.methods == .passwordAndCode)
    #expect(try await store.account(identity: try #require(account.identity))?.id == account.id)
    #expect(try await store.events(after: .zero, account: nil, limit: 10).count == 1)
    let late = start.advanced(by: .seconds(10_000))
    let retention = Retention(eventsBefore: late, endedBefore: late, unlimited: .seconds(10), now: late)
    #expect(try await store.prune(retention, limit: 100) == 3)
    #expect(try await store.session(row.id) != nil)
    try store.close()
    // Opened again: the migration is permanent.
    let again = try folder.server.open().store
    #expect(try await again.session(row.id)?.revision == 8)
  }

  @Test func `has its addresses under their keys, or is refused with those that meet`() async throws {
    let folder = try Folder()
    func token(_ name: String) throws -> OneTimeTokenRecord {
      let email = try #require(EmailAddress(name + "@bücher.example"))
      return OneTimeTokenRecord(
        id: OneTimeTokenID(of: Secret(name), purpose: .signUp), purpose: .signUp, subject: email.normalized,
        email: email, createdAt: start, expiresAt: start.advanced(by: .seconds(9)))
    }
    let store = try folder.server.open().store
    var changes: [RegistryChange] = [.createOneTimeToken(try token("ada")), .createOneTimeToken(try token("bob"))]
    for name in ["ada", "bob", "eve", "dan"] {
      changes.append(
        .createAccount(
          AccountRecord(
            id: AccountID(name), email: EmailAddress(name + "@example.org"), username: "", passwordHash: nil,
            createdAt: start)))
    }
    try await store.write(changes, events: [])
    try store.close()
    func change(_ keys: [(id: String, key: String)]) async throws {
      let former = try DatabaseQueue(path: folder.server.databasePath)
      try await former.write { db in
        try db.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = '10'")
        try db.execute(sql: "UPDATE ticket SET email = 'ada@bücher.example' WHERE email LIKE 'ada%'")
        for (id, key) in keys {
          try db.execute(sql: "UPDATE account SET email = ? WHERE id = ?", arguments: [key, id])
        }
      }
      try former.close()
    }
    try await change([
      ("ada", "ada@bücher.example"), ("bob", "ａda@xn--bcher-kva.example"), ("dan", "e\u{200D}@example.org"),
      ("eve", "\"dan\"@example.org"),
    ])
    guard case .refused(let text, let hint)? = refusal(folder.server) else { throw Opened() }
    for part in ["ａda@xn--bcher-kva.example (bob)", "xn--bcher-kva.example (ada)"] {
      #expect(text.contains(part), "\(text)")
    }
    #expect(!text.contains("(dan)"), "one that is no address any more meets no other")
    #expect(hint.contains("former version") && hint.contains("admin accounts delete ID"))
    // The refusal has changed nothing.
    let odd = "e\u{200D}@example.org"
    try await change([("bob", "zoe\u{308}@example.org"), ("dan", odd)])
    let again = try folder.server.open().store
    for (key, id) in [
      ("ada@xn--bcher-kva.example", "ada"), ("zo\u{EB}@example.org", "bob"), ("dan@example.org", "eve"), (odd, "dan"),
    ] {
      #expect(try await again.account(email: key)?.id == AccountID(id), "\(key)")
    }
    #expect(try await again.account(AccountID("ada"))?.email?.typed == "ada@example.org")
    #expect(try await again.oneTimeToken(try token("ada").id) == nil)
    #expect(try await again.oneTimeToken(try token("bob").id) != nil)
  }

  private struct Opened: Error {}
}
#endif
