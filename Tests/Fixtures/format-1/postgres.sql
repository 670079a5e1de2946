CREATE SCHEMA handstamp;
CREATE TABLE handstamp.account (
    id text NOT NULL COLLATE pg_catalog."C",
    email text COLLATE pg_catalog."C",
    email_typed text COLLATE pg_catalog."C",
    identity text COLLATE pg_catalog."C",
    username text NOT NULL COLLATE pg_catalog."C",
    password_hash bytea,
    created_at bigint NOT NULL,
    credentials_changed_at bigint,
    closed_at bigint,
    email_confirmed_at bigint,
    locale text COLLATE pg_catalog."C",
    revision bigint NOT NULL
);
CREATE TABLE handstamp.audit (
    id bigint NOT NULL,
    at bigint NOT NULL,
    action text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    account text COLLATE pg_catalog."C",
    session text COLLATE pg_catalog."C",
    address text COLLATE pg_catalog."C",
    details text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE handstamp.clock (
    only_one boolean DEFAULT true NOT NULL,
    at bigint NOT NULL,
    doubted_since bigint,
    revision bigint NOT NULL,
    CONSTRAINT clock_only_one_check CHECK (only_one)
)
WITH (fillfactor='10');
CREATE TABLE handstamp.counter (
    name text NOT NULL COLLATE pg_catalog."C",
    last bigint NOT NULL
)
WITH (fillfactor='10');
CREATE TABLE handstamp.event (
    id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    account text NOT NULL COLLATE pg_catalog."C",
    session text COLLATE pg_catalog."C",
    reason text COLLATE pg_catalog."C",
    at bigint NOT NULL
);
CREATE TABLE handstamp.format (
    number bigint NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE handstamp.instance (
    only_one boolean DEFAULT true NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    state text DEFAULT 'serving'::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT instance_only_one_check CHECK (only_one)
);
CREATE TABLE handstamp.key_check (
    kid text NOT NULL COLLATE pg_catalog."C",
    value bytea NOT NULL
);
CREATE TABLE handstamp.one_time_token (
    id bytea NOT NULL,
    purpose text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    account text COLLATE pg_catalog."C",
    email text COLLATE pg_catalog."C",
    email_typed text COLLATE pg_catalog."C",
    username text NOT NULL COLLATE pg_catalog."C",
    payload text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    CONSTRAINT one_time_token_id_check CHECK ((length(id) = 32))
);
CREATE TABLE handstamp.session (
    id bytea NOT NULL,
    account text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    device_name text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    counter bigint NOT NULL,
    ring bytea NOT NULL,
    oldest_cookie bigint,
    oldest_cookie_at bigint,
    oldest_cookie_replaced bigint,
    created_at bigint NOT NULL,
    rotated_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    ended_at bigint,
    end_reason text COLLATE pg_catalog."C",
    absolute_expiry bigint,
    idle_limit bigint,
    expiry bigint,
    expiry_day bigint GENERATED ALWAYS AS ((expiry / 86400000)) STORED,
    dpop_thumbprint text COLLATE pg_catalog."C",
    push_token bytea,
    client text COLLATE pg_catalog."C",
    scope text COLLATE pg_catalog."C",
    audience text COLLATE pg_catalog."C",
    browser text COLLATE pg_catalog."C",
    authenticated_at bigint NOT NULL,
    methods text COLLATE pg_catalog."C",
    requested_acr text COLLATE pg_catalog."C",
    pending text COLLATE pg_catalog."C",
    replaces text COLLATE pg_catalog."C",
    persistence text COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    CONSTRAINT session_check CHECK (((oldest_cookie IS NULL) = (oldest_cookie_at IS NULL))),
    CONSTRAINT session_check1 CHECK (((oldest_cookie IS NULL) = (oldest_cookie_replaced IS NULL))),
    CONSTRAINT session_check2 CHECK (((replaces IS NULL) OR (pending IS NOT NULL))),
    CONSTRAINT session_id_check CHECK ((length(id) = 16))
)
WITH (fillfactor='70');
CREATE TABLE handstamp.stored_item (
    id bytea NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    payload text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    due_at bigint,
    expires_at bigint NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT stored_item_id_check CHECK ((length(id) = 32))
);
CREATE TABLE handstamp.writer (
    id bytea NOT NULL,
    mark bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='10');
INSERT INTO handstamp.account VALUES ('ada', 'ada@example.org', 'ada@example.org', NULL, 'Ada', NULL, 1800000000000, NULL, NULL, NULL, 'de-CH', 0);
INSERT INTO handstamp.audit VALUES (1, 1800000000000, 'account.created', 'server', NULL, NULL, NULL, '{}');
INSERT INTO handstamp.clock VALUES (true, 1800000000000, NULL, 0);
INSERT INTO handstamp.counter VALUES ('audit', 1);
INSERT INTO handstamp.counter VALUES ('event', 1);
INSERT INTO handstamp.event VALUES (1, 'session-established', 'ada', 'U4RUEnsJZJPxu83L-lPgqA', NULL, 1800000000000);
INSERT INTO handstamp.format VALUES (1, '2026-11-30 03:45:06.968754+00');
INSERT INTO handstamp.instance VALUES (true, '6be0a6f0-b14b-40d5-a7aa-076e8d5a49d2', 'serving');
INSERT INTO handstamp.key_check VALUES ('k1', '\x1a6a0985122f477f1a8abe9ae41353d1');
INSERT INTO handstamp.one_time_token VALUES ('\x724842ea1a33e207af8c023491cc3ce8a970e4a326d600857907ab4d8e75bdaf', 'sign_up', 'ada@example.org', NULL, NULL, NULL, '', 'a=b', 1800000000000, 1800000009000);
INSERT INTO handstamp.session VALUES ('\xdaa66d2c7ddf743f78dde6e5fd29f054', 'ada', 'd1', 'Phone', 'ios', 'keyed', 1, '\x010000000000000007', NULL, NULL, NULL, 1800000000000, 1800000000000, 1800000000000, NULL, NULL, NULL, NULL, NULL, DEFAULT, 'thumb', '\x70757368', 'app', 'openid', 'https://api.example.org', 'b', 1800000000000, 'pwd otp mfa', 'https://refeds.org/profile/mfa', NULL, NULL, 'ephemeral', 0);
INSERT INTO handstamp.session VALUES ('\x1715609f7c746c69b54cda58fbbee87e', 'ada', 'd2', 'Phone', 'ios', 'browser', 2, '\x', 1, 1800000000000, 1, 1800000000000, 1800000000000, 1800000000000, NULL, NULL, 1800001000000, 500000, 1800000500000, DEFAULT, NULL, NULL, NULL, NULL, NULL, NULL, 1800000000000, NULL, NULL, 'keyed', '2qZtLH3fdD943ebl_SnwVA', NULL, 0);
INSERT INTO handstamp.session VALUES ('\x538454127b096493f1bbcdcbfa53e0a8', 'ada', 'd3', 'Phone', 'ios', 'keyed', 0, '\x', NULL, NULL, NULL, 1800000000000, 1800000000000, 1800000000000, 1800000000000, 'revoked', 1800001000000, 500000, 1800000500000, DEFAULT, NULL, NULL, NULL, NULL, NULL, NULL, 1800000000000, NULL, NULL, NULL, NULL, NULL, 1);
INSERT INTO handstamp.stored_item VALUES ('\x7604c5c44b05e831a7f218328b6b99602ea1546fa951af8223bdaf85d7afcd35', 'device', 'ada', '', 1800000000000, NULL, 1800000009000, 0);
INSERT INTO handstamp.writer VALUES ('\xce6141e543b32d74e399fe9373c43d29', 2, '2026-11-30 03:45:07.210538+00');
ALTER TABLE ONLY handstamp.account
    ADD CONSTRAINT account_email_key UNIQUE (email);
ALTER TABLE ONLY handstamp.account
    ADD CONSTRAINT account_identity_key UNIQUE (identity);
ALTER TABLE ONLY handstamp.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (id);
ALTER TABLE ONLY handstamp.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY handstamp.clock
    ADD CONSTRAINT clock_pkey PRIMARY KEY (only_one);
ALTER TABLE ONLY handstamp.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (name);
ALTER TABLE ONLY handstamp.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY handstamp.format
    ADD CONSTRAINT format_pkey PRIMARY KEY (number);
ALTER TABLE ONLY handstamp.instance
    ADD CONSTRAINT instance_pkey PRIMARY KEY (only_one);
ALTER TABLE ONLY handstamp.key_check
    ADD CONSTRAINT key_check_pkey PRIMARY KEY (kid);
ALTER TABLE ONLY handstamp.one_time_token
    ADD CONSTRAINT one_time_token_pkey PRIMARY KEY (id);
ALTER TABLE ONLY handstamp.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);
ALTER TABLE ONLY handstamp.stored_item
    ADD CONSTRAINT stored_item_pkey PRIMARY KEY (id);
ALTER TABLE ONLY handstamp.writer
    ADD CONSTRAINT writer_pkey PRIMARY KEY (id);
CREATE INDEX audit_account ON handstamp.audit USING btree (account, id) WHERE (account IS NOT NULL);
CREATE INDEX audit_address ON handstamp.audit USING btree (at) WHERE ((address IS NOT NULL) AND (POSITION(('/'::text) IN (address)) = 0));
CREATE INDEX event_account ON handstamp.event USING btree (account, id);
CREATE INDEX one_time_token_expiry ON handstamp.one_time_token USING btree (expires_at);
CREATE INDEX one_time_token_subject ON handstamp.one_time_token USING btree (subject, purpose);
CREATE INDEX session_account ON handstamp.session USING btree (account);
CREATE UNIQUE INDEX session_device ON handstamp.session USING btree (account, device_id, (
CASE
    WHEN (pending IS NULL) THEN '\x'::bytea
    ELSE id
END)) WHERE (ended_at IS NULL);
CREATE INDEX session_ended ON handstamp.session USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX session_expiry ON handstamp.session USING btree (expiry_day) WHERE ((ended_at IS NULL) AND (expiry_day IS NOT NULL));
CREATE INDEX stored_item_due ON handstamp.stored_item USING btree (kind, due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX stored_item_expiry ON handstamp.stored_item USING btree (expires_at);
CREATE INDEX stored_item_subject ON handstamp.stored_item USING btree (subject, kind);
ALTER TABLE ONLY handstamp.session
    ADD CONSTRAINT session_account_fkey FOREIGN KEY (account) REFERENCES handstamp.account(id);
