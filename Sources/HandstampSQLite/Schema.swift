#if SQLite
import Foundation
import GRDB
import HandstampRegistry
import HandstampStorage

/// The tables and their migrations. A released migration is never changed.
enum Schema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1") { db in
      try db.execute(sql: first)
    }
    migrator.registerMigration("2") { db in
      try db.execute(sql: second)
    }
    migrator.registerMigration("3") { db in
      try db.execute(sql: third)
    }
    migrator.registerMigration("4") { db in
      try db.execute(sql: fourth)
    }
    migrator.registerMigration("5") { db in
      try db.execute(sql: fifth)
    }
    migrator.registerMigration("6") { db in
      try db.execute(sql: sixth)
    }
    migrator.registerMigration("7") { db in
      try db.execute(sql: seventh)
    }
    migrator.registerMigration("8") { db in
      try db.execute(sql: eighth)
    }
    migrator.registerMigration("9") { db in
      try db.execute(sql: ninth)
    }
    migrator.registerMigration("10") { db in
      try renewAddressKeys(db)
    }
    migrator.registerMigration("11") { db in
      try db.execute(sql: persistence)
    }
    return migrator
  }

  /// Times and durations are milliseconds. `expiry` is the earlier of the absolute and the idle one.
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
    """

  /// Adds accounts of other identity providers, one-time tokens, push tokens, and the indexes for pruning.
  private static let second = """
    ALTER TABLE account ADD COLUMN identity TEXT;
    CREATE UNIQUE INDEX account_identity ON account (identity) WHERE identity IS NOT NULL;

    ALTER TABLE session ADD COLUMN push_token BLOB;
    CREATE INDEX session_ended ON session (ended_at) WHERE ended_at IS NOT NULL;

    -- Secrets that were mailed, as hashes, and values that count once.
    CREATE TABLE ticket (
      id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 32),
      purpose TEXT NOT NULL,
      subject TEXT NOT NULL,
      account TEXT,
      email TEXT,
      email_typed TEXT,
      username TEXT NOT NULL,
      password_hash BLOB,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE INDEX ticket_subject ON ticket (subject, purpose);
    CREATE INDEX ticket_expiry ON ticket (expires_at);
    """

  /// Adds sessions of other clients, and the payload of their one-time tokens.
  private static let third = """
    ALTER TABLE session ADD COLUMN client TEXT;
    ALTER TABLE session ADD COLUMN scope TEXT;
    ALTER TABLE session ADD COLUMN audience TEXT;
    ALTER TABLE ticket ADD COLUMN payload TEXT NOT NULL DEFAULT '';
    """

  /// Adds the last reading of the server's clock, which starts as the latest stored time.
  private static let fourth = """
    CREATE TABLE clock (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      at INTEGER NOT NULL,
      doubted_since INTEGER,
      revision INTEGER NOT NULL
    ) STRICT;

    INSERT INTO clock SELECT 1, latest, NULL, 0 FROM (
      SELECT max(time) AS latest FROM (
        SELECT max(at) AS time FROM event
        UNION ALL SELECT max(max(created_at, rotated_at, last_seen_at)) FROM session
        UNION ALL SELECT max(created_at) FROM ticket
      )
    ) WHERE latest IS NOT NULL;
    """

  /// Adds items, the audit log, when a session's user was last authenticated, and when a password was last changed.
  private static let fifth = """
    ALTER TABLE session ADD COLUMN authenticated_at INTEGER;
    ALTER TABLE account ADD COLUMN credentials_changed_at INTEGER;

    -- Finds the sessions of an account that have ended, to erase their devices.
    CREATE INDEX session_account ON session (account) WHERE ended_at IS NOT NULL;

    CREATE TABLE fact (
      id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 32),
      kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      payload TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      due_at INTEGER,
      expires_at INTEGER NOT NULL,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE INDEX fact_subject ON fact (subject, kind);
    CREATE INDEX fact_due ON fact (kind, due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX fact_expiry ON fact (expires_at);

    -- AUTOINCREMENT: no id is given twice, even after the newest entry was deleted.
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
    """

  /// Adds the browser that a client's session depends on, and when an account's address was confirmed.
  private static let sixth = """
    ALTER TABLE session ADD COLUMN browser TEXT;
    ALTER TABLE account ADD COLUMN email_confirmed_at INTEGER;
    """

  /// Adds whether a session waits for its first use. Only sessions in use exclude each other on a device.
  private static let seventh = """
    ALTER TABLE session ADD COLUMN pending TEXT;
    DROP INDEX session_device;
    CREATE UNIQUE INDEX session_device ON session
      (account, device_id, CASE WHEN pending IS NULL THEN x'' ELSE id END) WHERE ended_at IS NULL;
    """

  /// Finds the audited actions about an account, and those with whole addresses.
  private static let eighth = """
    CREATE INDEX audit_account ON audit (account, id) WHERE account IS NOT NULL;
    CREATE INDEX audit_address ON audit (at) WHERE address IS NOT NULL AND instr(address, '/') = 0;
    """

  /// Adds how the user of a session has proved to be the account's owner.
  private static let ninth = "ALTER TABLE session ADD COLUMN methods TEXT"

  /// Adds how a session is kept where it began; without a value, persistently.
  private static let persistence = "ALTER TABLE session ADD COLUMN persistence TEXT"

  /// Gives the addresses of accounts the keys that they have now. Whoever waits for a code by such an address asks for another one.
  private static func renewAddressKeys(_ db: Database) throws {
    let rows = try Row.fetchAll(db, sql: "SELECT id, email FROM account WHERE email GLOB '*\(AddressKeys.changed)*'")
    let refusal = try AddressKeys.renew(rows.map { (id: $0["id"], key: $0["email"]) }) { key in
      try String.fetchOne(db, sql: "SELECT id FROM account WHERE email = ?", arguments: [key])
    } set: { id, key in
      try db.execute(sql: "UPDATE account SET email = ? WHERE id = ?", arguments: [key, id])
    }
    if let refusal { throw refusal }
    try db.execute(sql: "DELETE FROM ticket WHERE email GLOB '*\(AddressKeys.changed)*'")
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
