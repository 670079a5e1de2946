#if PostgreSQL
/// The tables and their migrations, in the schema `handstamp` of the database, so that other programs may use the same database.
///
/// Until the first tag there is one migration: a change of the tables changes it, and with it the fixture in
/// `Tests/Fixtures/format-1`, in the same commit. From the tag on, a migration is never changed: a change of the tables is another one.
enum PostgresSchema {
  /// The statements that lead to each format, the first one first.
  static let migrations = [tables]
  static var format: Int64 { Int64(migrations.count) }

  /// Held by the node that migrates the tables, or binds them to keys ("handstam" in ASCII).
  static let lock: Int64 = 0x6861_6e64_7374_616d
  /// Held by the node that deletes old rows.
  static let pruningLock: Int64 = lock + 1
  /// The name of the schema while its sessions are moved elsewhere, and afterwards.
  static let left = "handstamp_left"
  /// Where nodes tell each other that there are events.
  static let channel = "handstamp_event"

  /// Texts compare by their bytes. Times and durations are milliseconds.
  private static let tables = [
    "CREATE SCHEMA IF NOT EXISTS handstamp",
    """
    CREATE TABLE handstamp.format (
      number bigint PRIMARY KEY,
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
      email_confirmed_at bigint,
      locale text COLLATE "C",
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
      -- The oldest of a browser's cookies that count, when its user proved what it shows, and whether the browser had it when it got
      -- a later one. NULL if only the newest counts.
      oldest_cookie bigint,
      oldest_cookie_at bigint CHECK ((oldest_cookie IS NULL) = (oldest_cookie_at IS NULL)),
      oldest_cookie_replaced bigint CHECK ((oldest_cookie IS NULL) = (oldest_cookie_replaced IS NULL)),
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
      browser text COLLATE "C",
      authenticated_at bigint NOT NULL,
      -- How the user proved it then, in the words of `amr`, and the `acr` that the client had asked for.
      methods text COLLATE "C",
      requested_acr text COLLATE "C",
      -- Until the session's first use; then it takes the place of the sessions in `replaces`.
      pending text COLLATE "C",
      replaces text COLLATE "C" CHECK (replaces IS NULL OR pending IS NOT NULL),
      -- NULL is `persistent`.
      persistence text COLLATE "C",
      revision bigint NOT NULL
    ) WITH (fillfactor = 70)
    """,
    // A device has one session of an account in use at a time; also finds the sessions of an account.
    """
    CREATE UNIQUE INDEX session_device ON handstamp.session
      (account, device_id, (CASE WHEN pending IS NULL THEN ''::bytea ELSE id END)) WHERE ended_at IS NULL
    """,
    "CREATE INDEX session_expiry ON handstamp.session (expiry_day) WHERE ended_at IS NULL AND expiry_day IS NOT NULL",
    "CREATE INDEX session_ended ON handstamp.session (ended_at) WHERE ended_at IS NOT NULL",
    // Of all: a guest is deleted with the last one.
    "CREATE INDEX session_account ON handstamp.session (account)",
    """
    CREATE TABLE handstamp.one_time_token (
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
    "CREATE INDEX one_time_token_subject ON handstamp.one_time_token (subject, purpose)",
    "CREATE INDEX one_time_token_expiry ON handstamp.one_time_token (expires_at)",
    """
    CREATE TABLE handstamp.stored_item (
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
    "CREATE INDEX stored_item_subject ON handstamp.stored_item (subject, kind)",
    "CREATE INDEX stored_item_due ON handstamp.stored_item (kind, due_at) WHERE due_at IS NOT NULL",
    "CREATE INDEX stored_item_expiry ON handstamp.stored_item (expires_at)",
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
    "CREATE INDEX audit_account ON handstamp.audit (account, id) WHERE account IS NOT NULL",
    // Finds the entries with whole addresses.
    "CREATE INDEX audit_address ON handstamp.audit (at) WHERE address IS NOT NULL AND position('/' in address) = 0",
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
