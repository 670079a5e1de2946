#if Programs
/// The commands that a block needs beside the machine.
struct DocumentPlan {
  /// The start of the block's commands.
  let start: String
  /// Run before it, and after it.
  var before = ""
  var after = ""

  /// A block without an entry is run as it is, after those before it.
  static let plans: [String: [DocumentPlan]] = [
    "Examples/Quickstart/README.md": [DocumentPlan(start: "echo", before: unknown)],
    "Sources/Client/Handstamp/Handstamp.docc/QuickStart.md": [DocumentPlan(start: "# in a second", before: unknown)],
    "docs/a-bad-day.md": [
      DocumentPlan(start: "SECRET=", before: "again"),
      DocumentPlan(start: "journalctl", before: #"curl -s -H "Authorization: Bearer x" "$ISSUER/v1/me" || :"#),
      DocumentPlan(start: "TRIAL=", before: unknown, after: "admin accounts list | grep ada@example.org"),
    ],
    "docs/administration.md": [
      DocumentPlan(start: "handstamp-server admin accounts create", before: unknown),
      DocumentPlan(start: "curl -s -H", before: "again"),
    ],
    "docs/agent.md": [
      DocumentPlan(start: "\(agent)docker", before: "unset HANDSTAMP_AGENT; quiet agent"),
      DocumentPlan(start: "\(agent)ssh", before: "wait; quiet agent"),
      DocumentPlan(start: "curl --unix-socket", before: "wait"),
    ],
    "docs/agents.md": [
      DocumentPlan(start: "handstamp mcp login https://mcp.example.org/mcp --client-id my", before: "again")
    ],
    "docs/api.md": [DocumentPlan(start: "curl -s http://localhost:8080/v1/sign-up", before: unknown)],
    "docs/clients.md": [
      DocumentPlan(
        start: "curl -s https://id.example.org/oauth/token -d grant_type=authorization_code",
        before: #"CODE=$(code android org.example.app:/signed-in "openid profile email offline_access" "$CHALLENGE")"#)
    ],
    "docs/gate.md": [
      DocumentPlan(
        start: "handstamp-server gate",
        before: #"""
          (umask 077; handstamp-server admin clients add api --clients "$R/etc/handstamp/clients.json" --introspects |
            tail -n 1 >"$R/etc/handstamp/gate.secret")
          reload
          """#)
    ],
    "docs/machines.md": [
      DocumentPlan(
        start: "handstamp token --client-credentials",
        before: #"reload; (umask 077; tail -n 1 "$R/out/1" >secret)"#)
    ],
    "docs/mailboxes.md": [
      DocumentPlan(
        start: "# on Handstamp's server",
        before: #"""
          mkdir -p "$R/etc/dovecot/conf.d"
          echo "!include auth-system.conf.ext" >"$R/etc/dovecot/conf.d/10-auth.conf"
          """#, after: ##"grep "^#!include" "$R/etc/dovecot/conf.d/10-auth.conf""##)
    ],
    "docs/moving.md": [
      DocumentPlan(
        start: "handstamp-server admin import users.json --from keycloak",
        before: #"""
          echo '{"realm":"main","users":[{"id":"b1","username":"bob","email":"bob@example.org","emailVerified":true,
            "enabled":true}]}' >users.json
          """#),
      DocumentPlan(
        start: "python3 -", before: #"printf 'email,name,verified,hash\ncleo@example.org,Cleo,yes,\n' >users.csv"#),
      DocumentPlan(
        start: "handstamp-server admin import users.csv --from gotrue",
        before: #"""
          cat >users.csv <<'END'
          id,aud,role,email,encrypted_password,email_confirmed_at,created_at,identities
          d1,authenticated,authenticated,dora@example.org,,2026-01-01 00:00:00+00,2026-01-01 00:00:00+00,"[{""provider"":""github"",""provider_id"":""7""}]"
          END
          """#),
      DocumentPlan(
        start: #"curl -s "$KRATOS"#, before: #"KRATOS=$SERVICE/kratos; usual"#,
        after: #"grep '"id":"7"' identities.jsonl"#),
    ],
    "docs/operations.md": [
      DocumentPlan(
        start: "handstamp-server serve --config", before: #"echo "port: $PORT" >"$R/etc/handstamp.yaml""#),
      DocumentPlan(start: #"echo "DATABASE_PASSWORD"#, before: "mkdir packaging"),
      DocumentPlan(start: "handstamp-server --version", before: #"rm -r "$R/backup/$(date +%F)"*"#),
    ],
    "docs/pages.md": [
      DocumentPlan(
        start: "python3 -m venv catcher",
        before:
          #"python3() { mkdir -p catcher/bin; ln -s "$R/bin/recorder" catcher/bin/pip; ln -s "$R/bin/recorder" catcher/bin/aiosmtpd; }"#,
        after: #"grep -q you@example.org "$R/catcher.mails""#)
    ],
    "docs/protect-a-page.md": [DocumentPlan(start: "apt-get install apache2", before: #"mkdir "$R/etc/apache2""#)],
    "docs/providers/github.md": [
      DocumentPlan(
        start: "(umask 077; cat", before: "exec < <(printf 'secret of confidential')", after: "exec </dev/null")
    ],
    "docs/recipes.md": [
      DocumentPlan(
        start: "git config", after: "git credential fill <<<$'protocol=https\nhost=git.example.org' | grep password=eyJ"
      ),
      DocumentPlan(
        start: "#!/bin/sh\nexec handstamp credential-helper --host registry.example.org docker",
        before: "NAME=docker-credential-handstamp",
        after: "echo registry.example.org | docker-credential-handstamp get | grep eyJ"),
      DocumentPlan(
        start: "#!/bin/sh\nexec handstamp credential-helper --host pypi.example.org keyring", before: "NAME=keyring",
        after: "keyring get https://pypi.example.org/simple/ oauth2 | grep eyJ"),
      DocumentPlan(
        start: "printf 'machine api.example.org",
        before: #"curl() { sed s/api.example.org/127.0.0.1/ | command curl "$1" "$2" "$SERVICE/me"; }"#),
    ],
    "docs/sign-in-elsewhere.md": [
      DocumentPlan(
        start: "handstamp-server admin providers add google --providers providers.json --client-id 123",
        before: "(umask 077; printf s | tee google.secret >github.secret)"),
      DocumentPlan(start: "handstamp-server admin providers add google", before: "rm providers.json"),
    ],
    "docs/taking-over.md": [
      DocumentPlan(
        start: "handstamp-server admin sessions import",
        before: #"""
          ada=$(admin accounts show ada@example.org --json | grep -o 'acc_[^"]*' | head -n 1)
          printf '{"account":"%s","token":"former"}\n' "$ada" >tokens.jsonl
          """#),
      DocumentPlan(
        start: "chmod 600 token.txt",
        before: #"printf former >token.txt; serve --data ./data --issuer "$ISSUER" --former-sessions yes"#),
    ],
    "docs/terminal.md": [
      DocumentPlan(start: "handstamp signup", before: unknown),
      DocumentPlan(start: "handstamp login --server", before: "again"),
      DocumentPlan(start: "handstamp request /v1/me", before: "again"),
    ],
    "docs/terminal-reference.md": [
      DocumentPlan(start: "handstamp login --issuer https://id.example.org --client-id ID --dpop", before: "again"),
      DocumentPlan(
        start: "handstamp login --proxy",
        before: #"""
          openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ada -keyout client.key \
            -out client.pem 2>/dev/null
          """#),
      DocumentPlan(start: "cat /etc/ssl", before: "cp /etc/ssl/certs/ca-certificates.crt own.pem"),
    ],
  ]

  private static let unknown = "admin accounts delete ada@example.org"
  private static let agent = "handstamp agent --socket ~/.handstamp/dev/agent.sock &\n"
}

/// Commands of the documents that are not run here.
struct LeftOut {
  enum Reason {
    /// They build or install this package, or are checks themselves.
    case check
    /// These tests, or this verb of `scripts/dev`, run them with servers of their own.
    case runBy(String)
    /// They ask the database of a system that is left.
    case formerSystem
    /// The server fetches a document of another host.
    case publicHost
  }

  let reason: Reason
  /// The start of a block, which is left out, or of its lines.
  let start: String
  var isWhole = true

  static let all: [String: [LeftOut]] = [
    "README.md": [LeftOut(reason: .check, start: "make run")],
    "Examples/Quickstart/README.md": [
      LeftOut(reason: .runBy("scripts/dev examples"), start: "swift run", isWhole: false)
    ],
    "Sources/Client/Handstamp/Handstamp.docc/QuickStart.md": [
      LeftOut(reason: .check, start: "scripts/dev server", isWhole: false)
    ],
    "docs/agents.md": [
      LeftOut(
        reason: .publicHost, start: "handstamp mcp login https://mcp.example.org/mcp --client-id https", isWhole: false)
    ],
    "docs/machines.md": [
      LeftOut(reason: .publicHost, start: "curl -s https://id.example.org/oauth/token -d client_id=release")
    ],
    "docs/moving.md": [LeftOut(reason: .formerSystem, start: "psql")],
    "docs/providers.md": [
      LeftOut(reason: .runBy("ProviderQuirkTests"), start: "handstamp login --issuer https://git.example.org")
    ],
    "docs/providers/github.md": [
      LeftOut(
        reason: .runBy("ProviderQuirkTests"), start: "handstamp login --issuer https://git.example.org", isWhole: false)
    ],
    "docs/several-nodes.md": ["createdb", "handstamp-server admin", "psql", "pg_ctl"].map {
      LeftOut(reason: .runBy("scripts/dev cluster"), start: $0)
    },
    "docs/taking-over.md": [
      LeftOut(reason: .formerSystem, start: "python3 manage.py"), LeftOut(reason: .formerSystem, start: "psql"),
    ],
    "docs/terminal.md": [
      LeftOut(reason: .check, start: "sudo apt install libargon2-dev"),
      LeftOut(reason: .check, start: "make dist"),
    ],
    "docs/terminal-reference.md": [
      LeftOut(reason: .runBy("NetworkCommandTests"), start: "handstamp login --proxy http", isWhole: false)
    ],
    "docs/testing.md": [LeftOut(reason: .check, start: "scripts/dev")],
  ]
}
#endif
