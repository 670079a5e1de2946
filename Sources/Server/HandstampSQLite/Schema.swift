#if Server
import Foundation
import GRDB
import HandstampRegistry

/// The tables and their migrations.
///
/// Until the first tag there is one migration: a change of the tables changes it, and with it the fixture in
/// `Tests/Fixtures/format-1`, in the same commit. From the tag on, a migration is never changed: a change of the tables is another one.
enum Schema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("format 1") { db in
      try db.execute(sql: tables)
    }
    return migrator
  }

  /// Times and durations are milliseconds. `expiry` is the earlier of the absolute and the idle one.
  private static let tables = """
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
      identity TEXT,
      username TEXT NOT NULL,
      password_hash BLOB,
      created_at INTEGER NOT NULL,
      credentials_changed_at INTEGER,
      closed_at INTEGER,
      email_confirmed_at INTEGER,
      locale TEXT,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE UNIQUE INDEX account_identity ON account (identity) WHERE identity IS NOT NULL;

    CREATE TABLE session (
      id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
      account TEXT NOT NULL REFERENCES account (id),
      device_id TEXT NOT NULL,
      device_name TEXT NOT NULL,
      platform TEXT NOT NULL,
      kind TEXT NOT NULL,
      counter INTEGER NOT NULL,
      ring BLOB NOT NULL,
      -- The oldest of a browser's cookies that count, when its user proved what it shows, and whether the browser had it when it got
      -- a later one. NULL if only the newest counts.
      oldest_cookie INTEGER,
      oldest_cookie_at INTEGER CHECK ((oldest_cookie IS NULL) = (oldest_cookie_at IS NULL)),
      oldest_cookie_replaced INTEGER CHECK ((oldest_cookie IS NULL) = (oldest_cookie_replaced IS NULL)),
      created_at INTEGER NOT NULL,
      rotated_at INTEGER NOT NULL,
      last_seen_at INTEGER NOT NULL,
      ended_at INTEGER,
      end_reason TEXT,
      absolute_expiry INTEGER,
      idle_limit INTEGER,
      expiry INTEGER,
      dpop_thumbprint TEXT,
      push_token BLOB,
      client TEXT,
      scope TEXT,
      audience TEXT,
      browser TEXT,
      authenticated_at INTEGER NOT NULL,
      -- How the user proved it then, in the words of `amr`, and the `acr` that the client had asked for.
      methods TEXT,
      requested_acr TEXT,
      -- Until the session's first use; then it takes the place of the sessions in `replaces`.
      pending TEXT,
      replaces TEXT CHECK (replaces IS NULL OR pending IS NOT NULL),
      -- NULL is `persistent`.
      persistence TEXT,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- A device has one session of an account in use at a time; also finds the sessions of an account.
    CREATE UNIQUE INDEX session_device ON session
      (account, device_id, CASE WHEN pending IS NULL THEN x'' ELSE id END) WHERE ended_at IS NULL;
    CREATE INDEX session_expiry ON session (expiry) WHERE ended_at IS NULL AND expiry IS NOT NULL;
    CREATE INDEX session_ended ON session (ended_at) WHERE ended_at IS NOT NULL;
    -- Finds the sessions of an account that have ended, to erase their devices.
    CREATE INDEX session_account ON session (account) WHERE ended_at IS NOT NULL;

    -- Secrets that were mailed, as hashes, and values that count once.
    CREATE TABLE one_time_token (
      id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 32),
      purpose TEXT NOT NULL,
      subject TEXT NOT NULL,
      account TEXT,
      email TEXT,
      email_typed TEXT,
      username TEXT NOT NULL,
      payload TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE INDEX one_time_token_subject ON one_time_token (subject, purpose);
    CREATE INDEX one_time_token_expiry ON one_time_token (expires_at);

    CREATE TABLE stored_item (
      id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 32),
      kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      payload TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      due_at INTEGER,
      expires_at INTEGER NOT NULL,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE INDEX stored_item_subject ON stored_item (subject, kind);
    CREATE INDEX stored_item_due ON stored_item (kind, due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX stored_item_expiry ON stored_item (expires_at);

    -- The last reading of the server's clock.
    CREATE TABLE clock (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      at INTEGER NOT NULL,
      doubted_since INTEGER,
      revision INTEGER NOT NULL
    ) STRICT;

    -- AUTOINCREMENT, here and below: no id is given twice, even after the newest row was deleted.
    CREATE TABLE event (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      kind TEXT NOT NULL,
      account TEXT NOT NULL,
      session TEXT,
      reason TEXT,
      at INTEGER NOT NULL
    ) STRICT;

    CREATE INDEX event_account ON event (account, id);

    CREATE TABLE audit (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      action TEXT NOT NULL,
      actor TEXT NOT NULL,
      account TEXT,
      session TEXT,
      address TEXT,
      details TEXT NOT NULL
    ) STRICT;

    CREATE INDEX audit_account ON audit (account, id) WHERE account IS NOT NULL;
    -- Finds the entries with whole addresses.
    CREATE INDEX audit_address ON audit (at) WHERE address IS NOT NULL AND instr(address, '/') = 0;
    """

  /// Refuses a database that has the tables of another version, before anything is written to it.
  static func requireKnown(_ db: Database, path: String) throws {
    // The migrations of versions before format 1 had numbers for names.
    guard try !migrator.appliedIdentifiers(db).contains("1") else { throw RegistryOpenError.draftFormat(path: path) }
    guard try !migrator.hasBeenSuperseded(db) else { throw RegistryOpenError.newerFormat(path: path) }
  }

  /// Returns whether a database was bound to keys. Does not change it; it may be any SQLite database.
  static func isBound(_ db: Database) throws -> Bool {
    try db.tableExists("instance") && String.fetchOne(db, sql: "SELECT id FROM instance") != nil
  }

  /// Binds a new database to its keys, and refuses one that is bound to others. Records added keys.
  static func bind(_ db: Database, to keys: ServerKeys, path: String) throws {
    if let id = try String.fetchOne(db, sql: "SELECT id FROM instance") {
      guard id == keys.instance.rawValue else {
        throw RegistryOpenError.wrongKeys(path: path, "the database belongs to \(id), the keys to \(keys.instance)")
      }
    } else {
      try db.execute(sql: "INSERT INTO instance (only, id) VALUES (1, ?)", arguments: [keys.instance.rawValue])
    }
    for id in keys.master.keys.keys.sorted() {
      guard let value = keys.master.checkValue(of: id, for: keys.instance) else { continue }
      if let stored = try Data.fetchOne(db, sql: "SELECT value FROM key_check WHERE kid = ?", arguments: [id.rawValue])
      {
        guard stored == Data(value) else {
          throw RegistryOpenError.wrongKeys(path: path, "the key \(id) has changed")
        }
      } else {
        try db.execute(
          sql: "INSERT INTO key_check (kid, value) VALUES (?, ?)", arguments: [id.rawValue, Data(value)])
      }
    }
  }
}
#endif
