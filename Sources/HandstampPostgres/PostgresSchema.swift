#if PostgreSQL
import HandstampRegistry
import HandstampStorage

/// The tables and their migrations, in the schema `handstamp` of the database, so that other programs may use the same database. A
/// released migration is never changed.
enum PostgresSchema {
  /// The statements of each version, the first one first.
  static let migrations = [first, second, third, fourth, fifth, sixth, persistence]
  static var version: Int64 { Int64(migrations.count) }
  /// The version in which addresses have the keys that they have now.
  static let addressKeys = 6

  /// Held by the node that migrates the tables, or binds them to keys ("handstam" in ASCII).
  static let lock: Int64 = 0x6861_6e64_7374_616d
  /// Held by the node that deletes old rows.
  static let pruningLock: Int64 = lock + 1
  /// The name of the schema while its sessions are moved elsewhere, and afterwards.
  static let left = "handstamp_left"
  /// Where nodes tell each other that there are events.
  static let channel = "handstamp_event"

  /// Adds the browser that a client's session depends on, and when an account's address was confirmed.
  private static let second = [
    "ALTER TABLE handstamp.session ADD COLUMN browser text COLLATE \"C\"",
    "ALTER TABLE handstamp.account ADD COLUMN email_confirmed_at bigint",
  ]

  /// Adds whether a session waits for its first use. Only sessions in use exclude each other on a device.
  private static let third = [
    "ALTER TABLE handstamp.session ADD COLUMN pending text COLLATE \"C\"",
    "DROP INDEX handstamp.session_device",
    """
    CREATE UNIQUE INDEX session_device ON handstamp.session
      (account, device_id, (CASE WHEN pending IS NULL THEN ''::bytea ELSE id END)) WHERE ended_at IS NULL
    """,
  ]

  /// Finds the audited actions about an account, and those with whole addresses.
  private static let fourth = [
    "CREATE INDEX audit_account ON handstamp.audit (account, id) WHERE account IS NOT NULL",
    "CREATE INDEX audit_address ON handstamp.audit (at) WHERE address IS NOT NULL AND position('/' in address) = 0",
  ]

  /// Adds how the user of a session has proved to be the account's owner.
  private static let fifth = ["ALTER TABLE handstamp.session ADD COLUMN methods text COLLATE \"C\""]

  /// After the keys of addresses: whoever waits for a code by one whose key may have changed asks for another one.
  private static let sixth = ["DELETE FROM handstamp.ticket WHERE email ~ '\(AddressKeys.changed)'"]

  /// Adds how a session is kept where it began; without a value, persistently.
  private static let persistence = ["ALTER TABLE handstamp.session ADD COLUMN persistence text COLLATE \"C\""]

  /// Texts compare by their bytes. Times and durations are milliseconds.
  private static let first = [
    "CREATE SCHEMA IF NOT EXISTS handstamp",
    """
    CREATE TABLE handstamp.migration (
      version bigint PRIMARY KEY,
      applied_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    // `state` is `serving`; while a copy is made `copying`, and afterwards `moved` at its source.
    """
    CREATE TABLE handstamp.instance (
      only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
      id text COLLATE "C" NOT NULL,
      state text COLLATE "C" NOT NULL DEFAULT 'serving'
    )
    """,
    """
    CREATE TABLE handstamp.key_check (
      kid text COLLATE "C" PRIMARY KEY,
      value bytea NOT NULL
    )
    """,
    """
    CREATE TABLE handstamp.account (
      id text COLLATE "C" PRIMARY KEY,
      email text COLLATE "C" UNIQUE,
      email_typed text COLLATE "C",
      identity text COLLATE "C" UNIQUE,
      username text COLLATE "C" NOT NULL,
      password_hash bytea,
      created_at bigint NOT NULL,
      credentials_changed_at bigint,
      closed_at bigint,
      revision bigint NOT NULL
    )
    """,
    // A refresh changes no column that has an index, and finds room for the new version of the row beside the old one: then no index is
    // written (heap-only tuples). The day is there because `expiry` changes with every refresh.
    """
    CREATE TABLE handstamp.session (
      id bytea PRIMARY KEY CHECK (length(id) = 16),
      account text COLLATE "C" NOT NULL REFERENCES handstamp.account (id),
      device_id text COLLATE "C" NOT NULL,
      device_name text COLLATE "C" NOT NULL,
      platform text COLLATE "C" NOT NULL,
      kind text COLLATE "C" NOT NULL,
      counter bigint NOT NULL,
      ring bytea NOT NULL,
      created_at bigint NOT NULL,
      rotated_at bigint NOT NULL,
      last_seen_at bigint NOT NULL,
      ended_at bigint,
      end_reason text COLLATE "C",
      absolute_expiry bigint,
      idle_limit bigint,
      expiry bigint,
      expiry_day bigint GENERATED ALWAYS AS (expiry / 86400000) STORED,
      dpop_thumbprint text COLLATE "C",
      push_token bytea,
      client text COLLATE "C",
      scope text COLLATE "C",
      audience text COLLATE "C",
      authenticated_at bigint,
      revision bigint NOT NULL
    ) WITH (fillfactor = 70)
    """,
    // A device has one session of an account at a time; also finds the sessions of an account.
    "CREATE UNIQUE INDEX session_device ON handstamp.session (account, device_id) WHERE ended_at IS NULL",
    "CREATE INDEX session_expiry ON handstamp.session (expiry_day) WHERE ended_at IS NULL AND expiry_day IS NOT NULL",
    "CREATE INDEX session_ended ON handstamp.session (ended_at) WHERE ended_at IS NOT NULL",
    // Of all: a guest is deleted with the last one.
    "CREATE INDEX session_account ON handstamp.session (account)",
    """
    CREATE TABLE handstamp.ticket (
      id bytea PRIMARY KEY CHECK (length(id) = 32),
      purpose text COLLATE "C" NOT NULL,
      subject text COLLATE "C" NOT NULL,
      account text COLLATE "C",
      email text COLLATE "C",
      email_typed text COLLATE "C",
      username text COLLATE "C" NOT NULL,
      payload text COLLATE "C" NOT NULL,
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL
    )
    """,
    "CREATE INDEX ticket_subject ON handstamp.ticket (subject, purpose)",
    "CREATE INDEX ticket_expiry ON handstamp.ticket (expires_at)",
    """
    CREATE TABLE handstamp.fact (
      id bytea PRIMARY KEY CHECK (length(id) = 32),
      kind text COLLATE "C" NOT NULL,
      subject text COLLATE "C" NOT NULL,
      payload text COLLATE "C" NOT NULL,
      created_at bigint NOT NULL,
      due_at bigint,
      expires_at bigint NOT NULL,
      revision bigint NOT NULL
    )
    """,
    "CREATE INDEX fact_subject ON handstamp.fact (subject, kind)",
    "CREATE INDEX fact_due ON handstamp.fact (kind, due_at) WHERE due_at IS NOT NULL",
    "CREATE INDEX fact_expiry ON handstamp.fact (expires_at)",
    """
    CREATE TABLE handstamp.clock (
      only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
      at bigint NOT NULL,
      doubted_since bigint,
      revision bigint NOT NULL
    ) WITH (fillfactor = 10)
    """,
    // The last numbers of the two logs. A transaction takes its numbers right before it commits, and holds the row until then, so
    // numbers become visible in their order and without gaps: a reader that has seen a number has seen all before it. A sequence
    // gives numbers to transactions that commit later, or never.
    """
    CREATE TABLE handstamp.counter (
      name text COLLATE "C" PRIMARY KEY,
      last bigint NOT NULL
    ) WITH (fillfactor = 10)
    """,
    "INSERT INTO handstamp.counter (name, last) VALUES ('event', 0), ('audit', 0)",
    """
    CREATE TABLE handstamp.event (
      id bigint PRIMARY KEY,
      kind text COLLATE "C" NOT NULL,
      account text COLLATE "C" NOT NULL,
      session text COLLATE "C",
      reason text COLLATE "C",
      at bigint NOT NULL
    )
    """,
    "CREATE INDEX event_account ON handstamp.event (account, id)",
    """
    CREATE TABLE handstamp.audit (
      id bigint PRIMARY KEY,
      at bigint NOT NULL,
      action text COLLATE "C" NOT NULL,
      actor text COLLATE "C" NOT NULL,
      account text COLLATE "C",
      session text COLLATE "C",
      address text COLLATE "C",
      details text COLLATE "C" NOT NULL
    )
    """,
    // The last transaction of each connection, to settle a commit whose answer was lost.
    """
    CREATE TABLE handstamp.writer (
      id bytea PRIMARY KEY,
      mark bigint NOT NULL,
      at timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 10)
    """,
  ]
}
#endif
