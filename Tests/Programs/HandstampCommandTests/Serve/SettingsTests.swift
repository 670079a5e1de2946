#if Programs
import ArgumentParser
import Crypto
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import HandstampServer
import HandstampSupport
import Logging
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

extension RegistryStore {
  /// Creates an account with live sessions of a client.
  func createSessions(_ count: Int, of client: String, account: AccountID = "ada") async throws {
    let account = AccountRecord(
      id: account, email: nil, username: "Ada", passwordHash: nil, createdAt: UnixTime(seconds: 9))
    var random = SystemRandomNumberGenerator()
    let sessions = (1...count).map { number in
      SessionRow(
        session: SessionBytes(from: &random), account: account.id,
        device: DeviceInfo(id: DeviceID("d\(number)"), name: "d", platform: "ios"), kind: .keyed,
        client: SessionClient(id: client, scope: "openid"), createdAt: UnixTime(seconds: 9))
    }
    try await write([.createAccount(account)] + sessions.map { .createSession($0) }, events: [])
  }
}

/// Keeps the messages of a log.
private struct Heard: LogHandler {
  let lines = Locked<[String]>([])
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { lines.withLock { $0.append("\(event.message)") } }
}

@Suite(.timeLimit(.minutes(10))) struct `Settings of the server` {
  private func settings(
    _ flags: [String: String] = [:], environment: [String: String] = [:], file: String? = nil
  ) async throws -> ServeSettings {
    try ServeSettings(flags: ["data": "/x"].merging(flags) { $1 }, environment: environment, file: file)
  }

  /// Writes a file, and reads it as the settings.
  private func settings(named name: String, _ text: String, _ flags: [String: String] = [:]) async throws
    -> ServeSettings
  {
    let folder = NSTemporaryDirectory() + "handstamp-test-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try text.write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
    return try await settings(flags, file: folder + "/" + name)
  }

  @Test func `come from flags before variables, and from variables before files`() async throws {
    try await ProcessFixture.inFolder { folder in
      let file = folder + "/serve.json"
      let text = #"{"data": "/file", "host": "127.0.0.2", "port": 1, "access-token-life": "1m"}"#
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      let settings = try ServeSettings(
        flags: ["port": "3"],
        environment: ["HANDSTAMP_SERVE_PORT": "2", "HANDSTAMP_SERVE_HOST": "127.0.0.3", "HANDSTAMP_HOME": "/x"],
        file: file)
      #expect(settings.port == 3)
      #expect(settings.host == "127.0.0.3")
      #expect(settings.data == "/file")
      #expect(settings.configuration.accessTokenLife == .seconds(60))
      #expect(settings.issuer == "http://127.0.0.3:3")
      #expect(settings.values["port"]?.place == "--port")
      #expect(settings.values["host"]?.place == "HANDSTAMP_SERVE_HOST")
      #expect(settings.values["data"]?.place == "\(file), data")
    }
  }

  @Test func `are parsed once, because the file that one names may be gone the next time`() throws {
    let reads = Locked(0)
    let parser = SettingParser<String>("a readable file") { _ in
      reads.withLock { count in
        count += 1
        return count == 1 ? "content" : nil
      }
    }
    var settings = try ServeSettings(flags: ["data": "/x"], environment: [:], file: nil)
    let values = SettingValues<ServeSettings>(flags: ["host": "/file"], environment: [:])
    try ServeSetting("host", "a file", hint: "use a file", parser, to: \.host).apply(values, &settings)
    #expect(settings.host == "content" && reads.withLock { $0 } == 1)
  }

  @Test(
    arguments: [
      ([:], false), (["client-registration": "profile"], true), (["client-documents": "profile"], true),
      (["database": "postgresql://db.example.org/x"], true),
    ] as [([String: String], Bool)])
  func `ask for an RSA key with clients of others, and for servers that share a database`(
    flags: [String: String], needsRSA: Bool
  ) async throws {
    var settings = try await settings(flags)
    #expect(settings.needsRSA == needsRSA)
    settings.configuration.clients = [try ConfiguredClient(id: "wiki", redirectURIs: ["https://wiki.example.org/"])]
    #expect(settings.needsRSA)
  }

  @Test(.enabled(if: geteuid() != 0)) func `that are reloaded say that there is no RSA key, as at the start`()
    async throws
  {
    try await ProcessFixture.inFolder { folder in
      var settings = try await self.settings(["data": folder])
      let (store, keys) = try await settings.openDatabase()
      let heard = Heard()
      let server = try await settings.server(
        store: store, keys: keys, logger: Logger(label: "test") { _ in heard }, metrics: PrometheusMetrics())
      let words = "No RSA key: signing.pem has none and may not be changed"
      #expect(!heard.lines.withLock { $0.contains(words) })
      settings.configuration.clients = [try ConfiguredClient(id: "wiki", redirectURIs: ["https://wiki.example.org/"])]
      try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder)
      defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder) }
      try await settings.apply(to: server, store: store, keys: keys)
      #expect(heard.lines.withLock { $0.contains(words) })
      store.release()
    }
  }

  @Test func `that lack a client with live sessions are warned of, with their number`() async throws {
    try await ProcessFixture.inFolder { folder in
      let settings = try await self.settings(["data": folder])
      let (registry, keys) = (MemoryRegistryStore(), try ServerKeys.drawn())
      let server = try await SessionServer(
        configuration: settings.configuration, registry: Registry(store: registry, mint: TokenMint(keys.master)),
        keys: SigningKeys())
      let check = SettingsCheck(settings: settings)
      #expect(await check.clientWarnings(of: server).isEmpty, "there is no database yet")
      let (store, _) = try await settings.openDatabase()
      try await store.createSessions(2, of: "forum")
      #expect(
        await check.clientWarnings(of: server) == [
          "client forum is not configured, and 2 live session(s) of it wait for its entry; to end them:"
            + " handstamp-server admin clients remove forum"
        ])
      try store.close()
    }
  }

  @Test(arguments: [
    ("a.json", #"{"port": 81, "allow-cleartext": true, "trusted-proxies": ["10.0.0.0/8", "unix"]}"#),
    ("a.json", #"{"port": "81", "allow-cleartext": "yes", "trusted-proxies": "10.0.0.0/8, unix"}"#),
    ("a.yaml", "port: 81\nallow-cleartext: true\ntrusted-proxies: [10.0.0.0/8, unix]\n"),
    ("a.json", #"{"port": 81, "allow-cleartext": 1, "trusted-proxies": ["10.0.0.0/8", "unix"], "site-name": null}"#),
    ("a.yaml", "port: 81\nallow-cleartext: on\ntrusted-proxies: [10.0.0.0/8, unix]\nsite-name: 42\n"),
    ("a.yml", "port: '81'\nallow-cleartext: yes\ntrusted-proxies:\n- 10.0.0.0/8\n- unix\n"),
  ])
  func `have the types of their file`(name: String, text: String) async throws {
    let settings = try await settings(named: name, text)
    #expect(settings.port == 81)
    #expect(settings.configuration.listener.allowsCleartext)
    #expect(settings.configuration.trustedProxies.trustsUnixSockets)
    #expect(settings.configuration.trustedProxies.ranges == [try #require(AddressRange("10.0.0.0/8"))])
  }

  @Test func `that no one can meet are refused by name`() async throws {
    try await ProcessFixture.inFolder { folder in
      func check(_ flags: [String: String]) async throws -> CommandError? {
        do {
          try await SettingsCheck(settings: try await settings(flags)).run()
          return nil
        } catch { return try #require(error as? CommandError) }
      }
      let named = ["issuer": "https://id.example.org", "data": folder, "port": "1"]
      for rule in ["*=phr", "staff=mfa"] {
        for more in [["passkey-domain": "none"], ["issuer": "http://127.0.0.1:1"]] {
          let refused = try await check(
            named.merging(["require-assurance": rule]) { $1 }.merging(more) { $1 })
          #expect(refused?.message.contains("second factor") == true, "\(more)")
          #expect(refused?.hint.contains("--require-assurance") == true)
        }
      }
      let empty = try await check(named.merging(["breached-passwords": folder]) { $1 })
      #expect(empty?.message.contains("no range files") == true && empty?.hint.contains("21BD1.txt") == true)
      try "".write(toFile: folder + "/21BD1.txt", atomically: true, encoding: .utf8)
      #expect(
        try await check(named.merging(["breached-passwords": folder, "require-assurance": "*=mfa"]) { $1 }) == nil)
      let client = #"[{"id": "wiki", "redirectURIs": ["https://w.example.org/"], "acr": "phr"}]"#
      try client.write(toFile: folder + "/clients.json", atomically: true, encoding: .utf8)
      let refused = try await check(
        named.merging(["clients": folder + "/clients.json", "passkey-domain": "none"]) { $1 })
      #expect(refused?.message.contains("client wiki: acr needs passkeys") == true, "\(refused?.message ?? "")")
    }
  }

  @Test func `admit clients with documents only if they say what those may request`() async throws {
    #expect(try await settings().configuration.clientDocuments == nil)
    let given = try await settings([
      "client-documents": "profile, read", "client-document-audiences": "https://api.example.org/mcp",
    ]).configuration.clientDocuments
    #expect(given?.rights.scopes == ["profile", "read"])
    #expect(given?.rights.audiences == ["https://api.example.org/mcp"])
    for flags in [["client-document-audiences": "https://api.example.org"], ["client-documents": "a\"b"]] {
      await #expect(throws: CommandError.self) { try await settings(flags) }
    }
  }

  @Test func `let clients register only if they say what those may request`() async throws {
    #expect(try await settings().configuration.clientRegistration == nil)
    let given = try await settings([
      "client-registration": "openid, profile", "client-document-audiences": "https://api.example.org/mcp",
    ]).configuration
    #expect(given.clientRegistration?.scopes == ["openid", "profile"])
    #expect(given.clientRegistration?.audiences == ["https://api.example.org/mcp"])
    #expect(given.clientDocuments == nil)
  }

  @Test func `publish a slash only of an issuer without a path, and warn of a change`() async throws {
    try await ProcessFixture.inFolder { folder in
      try "https://id.example.org\n".write(toFile: folder + "/issuer", atomically: true, encoding: .utf8)
      func settings(_ issuer: String, slash: String) throws -> ServeSettings {
        try ServeSettings(
          flags: ["data": folder, "issuer": issuer, "issuer-slash": slash], environment: [:], file: nil)
      }
      let changed = try settings("https://id.example.org", slash: "yes")
      #expect(changed.configuration.issuerIdentifier == "https://id.example.org/")
      #expect(changed.warnings.contains { $0.contains("signs everyone out") })
      let same = try settings("https://id.example.org", slash: "no")
      #expect(!same.warnings.contains { $0.contains("signs everyone out") })
      let refusal = #expect(throws: CommandError.self) { try settings("https://id.example.org/auth", slash: "yes") }
      #expect(refusal?.message.contains("issuer with a path") == true)
    }
  }

  @Test(arguments: [
    ("a.json", #"{"port": [81]}"#, "port must be a number"), ("a.json", #"{"clients": 1}"#, "clients must be a string"),
    ("a.yaml", "port: {a: 1}\n", "a.yaml"), ("a.yaml", "- port\n", "not a mapping in YAML"),
    ("a.yaml", "trusted-proxies: [10.0.0.1, {a: 1}]\n", "must be a list of strings"),
    ("a.yaml", "port: 1\nport: 2\n", "a.yaml"), ("a.json", "[]", "not a JSON object"),
    ("a.yaml", "prot: 1\n", "unknown setting prot"), ("a.json", #"{"keys": "{}"}"#, "keys is a secret"),
    ("a.json", #"{"port": 81"#, "not a JSON object"), ("a.json", #"{"port": 81, "port": 82}"#, "not a JSON object"),
  ])
  func `are refused if their file has others, or other types`(name: String, text: String, words: String) async throws {
    let refusal = await #expect(throws: CommandError.self) { try await settings(named: name, text) }
    #expect(refusal?.message.contains(words) == true, "\(refusal?.message ?? "")")
    #expect(refusal?.hint.isEmpty == false)
  }

  /// An issuer with https is a public address even if a proxy stands between.
  @Test(
    arguments: [
      ([:], [:], "open"), (["host": "0.0.0.0"], [:], "confirmed"),
      (["host": "0.0.0.0", "sign-up": "open"], [:], "open"),
      (["issuer": "https://id.example.org"], [:], "confirmed"), (["issuer": "http://localhost:1"], [:], "open"),
      ([:], ["LISTEN_FDS": "1"], "confirmed"), (["issuer": "http://127.0.0.1"], ["LISTEN_FDS": "1"], "confirmed"),
    ] as [([String: String], [String: String], String)])
  func `open sign-up only if nothing but this machine can reach it, unless set`(
    flags: [String: String], environment: [String: String], signUp: String
  ) async throws {
    #expect(try await settings(flags, environment: environment).configuration.signUp.rawValue == signUp)
  }

  @Test(
    arguments: [
      ["issuer": "http://id.example.org"], ["access-token-life": "25h"], ["access-token-life": "3650d"],
      ["idle-limit": "3651d"], ["retention": "0s"], ["minimum-password": "7"], ["minimum-password": "65"],
      ["breached-passwords": "/no/such/folder"], ["metrics-address": "9464"], ["metrics-address": "::1:9464"],
      ["metrics-address": "127.0.0.1:70000"], ["keys-file": "/no/such/file"], ["allow-cleartext": "maybe"],
      ["apple-apps": "org.example.forum"], ["apple-apps": "ABCDE12345.org.example.forum,"],
      ["android-apps": "org.example.forum"],
    ] as [[String: String]])
  func `that would weaken or stop the server unnoticed are refused`(flags: [String: String]) async throws {
    let refusal = await #expect(throws: CommandError.self) { try await settings(flags) }
    #expect(refusal?.message.hasPrefix("--") == true, "\(refusal?.message ?? "")")
  }

  @Test func `may name an http issuer beyond loopback only together with cleartext`() async throws {
    let settings = try await settings(["issuer": "http://id.example.org", "allow-cleartext": "yes"])
    #expect(settings.issuer == "http://id.example.org")
    #expect(settings.warnings.contains { $0.contains("cross the network") })
  }

  @Test(arguments: [
    ("trusted-proxies", "0.0.0.0/0", "trusted proxy"),
    ("mail-link", "http://a.example.org/{token}", "in clear"),
    ("metrics-address", "0.0.0.0:9090", "metrics"), ("idle-limit", "400d", "idle limit of sessions"),
    ("ephemeral-idle-limit", "5m", "idle limit of sessions that are not stored"),
    ("database", "postgresql://ada:secret@db.example.org/handstamp", "password in --database"),
  ])
  func `that an operator may not have meant are pointed out`(
    setting: String, text: String, word: String
  ) async throws {
    let settings = try await settings([setting: text])
    #expect(settings.warnings.contains { $0.contains(word) }, "\(settings.warnings)")
    #expect(try await !self.settings([:]).warnings.contains { $0.contains(word) })
  }

  @Test(
    arguments: [
      ([:], "http://127.0.0.1:8080"), (["host": "::1"], "http://[::1]:8080"),
      (["issuer": "http://localhost:8080"], "http://localhost:8080"),
      (["issuer": "http://localhost:8080/auth"], "http://localhost:8080"),
      // A proxy is there, or nothing yet.
      (["issuer": "http://localhost:9000"], "http://127.0.0.1:8080"),
      (["issuer": "https://id.example.org"], "http://127.0.0.1:8080"),
    ] as [([String: String], String)])
  func `say the URL at which a browser stays signed in`(flags: [String: String], url: String) async throws {
    #expect(try await settings(flags).url(at: 8080) == url)
  }

  @Test func `with another issuer than the folder was last served with are pointed out once`() async throws {
    try await ProcessFixture.inFolder { folder in
      let (old, new) = ("https://old.example.org", "https://new.example.org")
      let previous = try await settings(["data": folder, "issuer": old])
      #expect(previous.formerIssuer == nil)
      let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      previous.noteIssuer(logger)
      #expect(!previous.warnings.contains { $0.contains(old) })
      let settings = try await settings(["data": folder, "issuer": new])
      #expect(settings.warnings.contains { $0.contains(old) }, "\(settings.warnings)")
      settings.noteIssuer(logger)
      #expect(!settings.warnings.contains { $0.contains(old) })
      #expect(settings.formerIssuer == new)
      try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: settings.issuerFile)
      await #expect(throws: CommandError.self) { try await self.settings(["data": folder, "issuer": new]) }
    }
  }

  @Test func `with a secret in a file that every user can read are pointed out`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "token-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    for (mode, isOpen) in [(0o644, true), (0o640, false)] {
      try? FileManager.default.removeItem(atPath: path)
      #expect(
        FileManager.default.createFile(
          atPath: path, contents: Data(String(repeating: "t", count: 40).utf8), attributes: [.posixPermissions: mode]))
      let settings = try await settings(["admin-token-file": path])
      #expect(settings.warnings.contains { $0.contains("chmod o-r \(path)") } == isOpen, "\(settings.warnings)")
    }
  }

  @Test func `have the defaults of an embedded server`() async throws {
    let settings = try await settings()
    let standard = ServerConfiguration()
    #expect(settings.limits == RegistryLimits())
    #expect(settings.configuration.accessTokenLife == standard.accessTokenLife)
    #expect(settings.configuration.reauthentication == standard.reauthentication)
    #expect(settings.configuration.mail == standard.mail)
    #expect(settings.configuration.passwords == standard.passwords)
    #expect(settings.configuration.limits == standard.limits)
    #expect(settings.configuration.pages == standard.pages)
  }

  @Test func `accept an address for the metrics page`() async throws {
    #expect(try await settings().metrics == nil)
    #expect(try await settings(["metrics-address": "127.0.0.1:9464"]).metrics == .host("127.0.0.1", port: 9464))
    #expect(try await settings(["metrics-address": "[::1]:9464"]).metrics == .host("::1", port: 9464))
  }

  @Test func `read a secret from a file, but not from two places`() async throws {
    try await ProcessFixture.inFolder { folder in
      let (store, keys) = try ServerFolder(path: folder).open()
      try store.close()
      let text = try String(contentsOfFile: folder + "/keys.json", encoding: .utf8)
      try (text + "\n").write(toFile: folder + "/secret", atomically: true, encoding: .utf8)
      let read = try await settings(["keys-file": folder + "/secret"])
      #expect(read.keys?.instance == keys.instance)
      let named = try await settings(environment: ["HANDSTAMP_SERVE_KEYS_FILE": folder + "/secret"])
      #expect(named.keys?.instance == keys.instance)
      let both = await #expect(throws: CommandError.self) {
        try await settings(["keys-file": folder + "/secret"], environment: ["HANDSTAMP_SERVE_KEYS": text])
      }
      #expect(both?.message == "HANDSTAMP_SERVE_KEYS and --keys-file cannot be combined")
    }
  }

  @Test func `accept Sign in with Apple only for the named apps`() async throws {
    func apple(_ flags: [String: String]) async throws -> AppleSignIn? { try await settings(flags).apple }
    #expect(try await apple([:])?.clientIDs == nil)
    #expect(try await apple(["apple-keys-url": "https://keys.example.org"])?.clientIDs == nil)
    let two = try await apple(["apple-client-id": "org.example.forum, org.example.web"])
    #expect(two?.clientIDs == ["org.example.forum", "org.example.web"])
    #expect(two?.issuer == "https://appleid.apple.com")
    #expect(two?.keysURL == "https://appleid.apple.com/auth/keys")
    let other = try await apple([
      "apple-client-id": "a", "apple-issuer": "https://stand.in", "apple-keys-url": "http://127.0.0.1:1/keys",
    ])
    #expect(other?.issuer == "https://stand.in")
    #expect(other?.keysURL == "http://127.0.0.1:1/keys")
    for flags: [String: String] in [
      ["apple-client-id": ""], ["apple-client-id": "a,,b"], ["apple-keys-url": "/keys"],
      ["apple-keys-url": "file:///keys"],
      ["apple-issuer": ""],
    ] {
      await #expect(throws: CommandError.self) { try await apple(flags) }
    }
  }

  @Test func `take Apple's key whole, or not at all`() async throws {
    try await ProcessFixture.inFolder { folder in
      let (good, other) = (folder + "/good.p8", folder + "/other.p8")
      try P256.Signing.PrivateKey().pemRepresentation.write(toFile: good, atomically: true, encoding: .utf8)
      try P384.Signing.PrivateKey().pemRepresentation.write(toFile: other, atomically: true, encoding: .utf8)
      let all = [
        "apple-client-id": "org.example", "apple-team-id": "ABCDE12345", "apple-key-id": "FGHIJ67890",
        "apple-key": good,
      ]
      #expect(try await settings(all).apple?.key != nil)
      #expect(try await settings(["apple-client-id": "org.example"]).apple?.key == nil)
      for name in all.keys.sorted() {
        var part = all
        part[name] = nil
        let error = await #expect(throws: CommandError.self) { try await settings(part) }
        #expect(error?.message == "Apple's key needs --\(name)")
      }
      for (name, value) in [("apple-key", other), ("apple-key", "/nowhere"), ("apple-team-id", "ABC")] {
        await #expect(throws: CommandError.self) { try await settings(all.merging([name: value]) { $1 }) }
      }
    }
  }

  @Test func `write mails to the data folder, unless set`() async throws {
    func mailer(_ flags: [String: String]) async throws -> any Mailer { try await settings(flags).mailer }
    #expect(try await (mailer([:]) as? MailFolder)?.path == "/x/mail")
    #expect(try await (mailer(["mail-folder": "/y"]) as? MailFolder)?.path == "/y")
    #expect(try await (mailer(["sendmail": "/bin/sh"]) as? Sendmail)?.program == "/bin/sh")
    for flags: [String: String] in [
      ["sendmail": "/no/such/program"], ["sendmail": "sh"], ["sendmail": "/bin/sh", "mail-folder": "/y"],
      ["mail-from": "a, b@example.org"], ["mail-link": "https://app.example.org/"], ["mail-link": "x\n{token}"],
      ["mail-folder": ""],
    ] {
      await #expect(throws: CommandError.self) { try await mailer(flags) }
    }
  }

  @Test func `are printed by the check with their places, and without secrets`() async throws {
    try await ProcessFixture.inFolder { folder in
      try ServerFolder(path: folder).open().store.close()
      let text = try String(contentsOfFile: folder + "/keys.json", encoding: .utf8)
      let settings = try await settings(
        ["port": "81"], environment: ["HANDSTAMP_SERVE_KEYS": text, "HANDSTAMP_SERVE_SIGN_UP": "closed"])
      let lines = SettingsCheck(settings: settings).lines.map {
        $0.split(separator: " ", omittingEmptySubsequences: true)
      }
      #expect(lines.contains(["port", "81", "--port"]))
      #expect(lines.contains(["sign-up", "closed", "HANDSTAMP_SERVE_SIGN_UP"]))
      #expect(lines.contains(["keys", "<secret>", "HANDSTAMP_SERVE_KEYS"]))
      #expect(lines.contains(["issuer", "http://127.0.0.1:81", "default"]))
    }
  }
}
#endif
