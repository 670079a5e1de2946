#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampSupport
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Real programs at Authlib's server, on unusual machines.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `A session on an odd machine` {
  private struct Fixture {
    let server: IndependentServer
    /// The command's folder.
    let home: String

    static func run(_ options: [String] = ["--rotate"], _ body: @Sendable (Fixture) async throws -> Void) async throws {
      let home = NSTemporaryDirectory() + "handstamp-odd-\(UInt64.random(in: 0 ... .max))"
      defer { for folder in [home, home + "-disk"] { try? FileManager.default.removeItem(atPath: folder) } }
      try await IndependentServer.run(options) { server async throws in
        let fixture = Fixture(server: server, home: home)
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Independent")
        let login = try await Child(
          ["login", "--issuer", server.url, "--browser", "--client-id", "app"],
          variables: ["HANDSTAMP_HOME": home, "BROWSER": folder.appendingPathComponent("browser.py").path], input: ""
        ).outcome()
        #expect(login.status == 0, "\(login.words)")
        try await body(fixture)
      }
    }

    /// `handstamp token`, in a shell that has prepared the machine.
    func token(after preparation: String, running: String = "exec") async throws -> (status: Int32, words: String) {
      try await shell(preparation + "\n\(running) \"$PROGRAM\" token")
    }

    /// A shell in a mount namespace of its own.
    func shell(_ script: String) async throws -> (status: Int32, words: String) {
      try await Shell.run(
        ["unshare", getuid() == 0 ? "-m" : "-rm", "sh", "-ec", script],
        environment: ["PROGRAM": Child.path(), "HANDSTAMP_HOME": home, "FOLDER": home, "SERVER": server.url])
    }

    func count(_ name: String) async throws -> Int? {
      let answer = try await AsyncHTTPTransport.shared.send(
        TransportRequest(method: "GET", url: server.url + "/counts"))
      return (try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Int])?[name]
    }

    func paths() async throws -> [String] {
      let answer = try await AsyncHTTPTransport.shared.send(
        TransportRequest(method: "GET", url: server.url + "/paths"))
      let all = (try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: [String]])?["paths"] ?? []
      return all.filter { !$0.contains("/.well-known/") }
    }

    private var vault: SealedFileVault {
      get throws {
        Home(path: home).vault(
          of: ListedAccount.id(of: AccountID("user-1"), at: server.url))
      }
    }

    /// Makes the access token in the vault expire.
    func expire() async throws {
      guard case .value(let entry) = try await vault.read(), let session = entry.session, let token = session.refresh,
        let access = session.access?.token
      else { throw Program.Failed(description: "not signed in") }
      let over = TokenResponse(tokens: TokenSet(access: access, expiresIn: .zero))
      _ = try await vault.edit(
        .advance(session.id, RefreshedTokens(over, sent: token, since: SystemClock().now())))
    }
  }

  @Test(.enabled("needs a mount namespace: unshare is not allowed here") { await Shell.mayMount() })
  func `is not refreshed by two machines that share a home while its token is valid`() async throws {
    try await Fixture.run { fixture in
      let other =
        "echo 6d1b0f3e-0000-4000-8000-000000000000 >\"$FOLDER/boot\"; "
        + "mount --bind \"$FOLDER/boot\" /proc/sys/kernel/random/boot_id"
      for machine in [other, ":", other, ":"] {
        let token = try await fixture.token(after: machine)
        #expect(token.status == 0, "\(token.words)")
      }
      #expect(try await fixture.count("refresh") == 0)
      // When it expires, the first machine that asks refreshes for both.
      try await fixture.expire()
      for machine in [other, ":", other] { #expect(try await fixture.token(after: machine).status == 0) }
      #expect(try await fixture.count("refresh") == 1)
      #expect(try await fixture.count("refused") == 0)
    }
  }

  @Test(.enabled("needs a mount namespace: unshare is not allowed here") { await Shell.mayMount() })
  func `in a read-only home reports that, and sends nothing`() async throws {
    try await Fixture.run { fixture in
      try await fixture.expire()
      let token = try await fixture.token(
        after: "mount --bind \"$FOLDER\" \"$FOLDER\"; mount -o remount,ro,bind \"$FOLDER\"")
      #expect(token.status != 0)
      #expect(token.words.contains("read-only file system"), "\(token.words)")
      #expect(token.words.contains("hint: "))
      #expect(try await fixture.count("refresh") == 0)
    }
  }

  @Test(.enabled("needs strace and permission to trace") { await Shell.mayTrace() })
  func `on a file system without locks reports that, and sends nothing`() async throws {
    try await Fixture.run { fixture in
      try await fixture.expire()
      let token = try await fixture.token(
        after: ":", running: "exec strace -f -qq -o /dev/null -e inject=flock:error=ENOLCK")
      #expect(token.status != 0)
      #expect(token.words.contains("the file system lacks what a vault needs"), "\(token.words)")
      #expect(try await fixture.count("refresh") == 0)
    }
  }

  @Test(
    .enabled("needs strace and permission to trace") { await Shell.mayTrace() }, arguments: ["--device", "--browser"])
  func `on a file system without locks does not begin, before the user is asked`(_ way: String) async throws {
    try await Fixture.run(["--rotate"]) { fixture in
      let previous = try await fixture.paths()
      let login = try await fixture.shell(
        """
        exec strace -f -qq -o /dev/null -e inject=flock:error=ENOLCK \
          "$PROGRAM" login --issuer "$SERVER" \(way) --client-id app --force
        """)
      #expect(login.status == 5)
      #expect(login.words.contains("the file system lacks what a vault needs"), "\(login.words)")
      #expect(!login.words.contains("open "), "\(login.words)")
      #expect(try await fixture.paths() == previous)
    }
  }

  @Test(.enabled("needs a mount namespace: unshare is not allowed here") { await Shell.mayMount() })
  func `whose disk fills up during a refresh stores the response nevertheless`() async throws {
    try await Fixture.run(["--rotate", "--hold"]) { fixture in
      try await fixture.expire()
      let outcome = try await fixture.shell(
        """
        mkdir "$FOLDER-disk"
        mount -t tmpfs -o size=512k,mode=0700 tmpfs "$FOLDER-disk"
        cp -a "$FOLDER/." "$FOLDER-disk"
        export HANDSTAMP_HOME="$FOLDER-disk"
        "$PROGRAM" token &
        under_way='import json, sys, urllib.request
        sys.exit(json.load(urllib.request.urlopen(sys.argv[1] + "/counts"))["inTheAir"] != 1)'
        until python3 -c "$under_way" "$SERVER"; do :; done
        dd if=/dev/zero of="$FOLDER-disk/filler" bs=1k 2>/dev/null || true
        python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/release", b"")' "$SERVER"
        wait $!
        rm "$FOLDER-disk/filler"
        "$PROGRAM" refresh
        """)
      #expect(outcome.status == 0, "\(outcome.words)")
      #expect(try await fixture.count("refresh") == 2)
      #expect(try await fixture.count("refused") == 0)
    }
  }

  /// A backup that is restored while a program holds a newer session.
  @Test func `whose older vault is restored under a running program continues with the newer one`() async throws {
    let folder = NSTemporaryDirectory() + "handstamp-odd-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await IndependentServer.run(["--rotate"]) { (server: IndependentServer) async throws -> Void in
      let backend = OAuthBackend(OAuthClient(issuer: server.url, id: "app"), transport: AsyncHTTPTransport.shared)
      let vault = SealedFileVault(folder: folder, account: AccountID("user-1"))
      let policy = SessionPolicy(refresh: RefreshPolicy(usesTimer: false, minimumAge: .zero))
      let controller = SessionController(backend: backend, vault: vault, policy: policy)
      try await controller.signIn(at: backend)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      let file = try #require(names.first { $0.hasSuffix(".vault") })
      let path = URL(fileURLWithPath: folder).appendingPathComponent(file)
      let older = try Data(contentsOf: path)
      let newest = try await controller.token(replacing: try await controller.token())
      var changes = vault.changes().makeAsyncIterator()
      try older.write(to: path, options: .atomic)
      while true {
        if case .value(let entry) = await vault.read(), entry.session?.access?.token == newest { break }
        await changes.next()
      }
      #expect(try await controller.token() == newest)
      // Another program finds a token that a strict server accepts.
      let next = try await Probe.run([server.url, folder, "700", "0"])
      #expect(next.status == 0, "\(next.words)")
    }
  }

  @Test func `whose folder is briefly away stays signed in, clears nothing, and continues`() async throws {
    let base = NSTemporaryDirectory() + "handstamp-odd-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: base) }
    try await IndependentServer.run(["--rotate"]) { (server: IndependentServer) async throws -> Void in
      let backend = OAuthBackend(OAuthClient(issuer: server.url, id: "app"), transport: AsyncHTTPTransport.shared)
      let vault = SealedFileVault(folder: base + "/home/vault", account: AccountID("user-1"))
      let policy = SessionPolicy(refresh: RefreshPolicy(usesTimer: false, minimumAge: .zero))
      let cleared = Locked(0)
      let controller = SessionController(
        backend: backend, vault: vault, policy: policy,
        cleanups: [CleanupStep("cache", .always) { _ in cleared.withLock { $0 += 1 } }])
      try await controller.signIn(at: backend)
      let first = try await controller.token()
      try FileManager.default.moveItem(atPath: base + "/home", toPath: base + "/away")
      // The read fails, so there is no refresh; the current token still works.
      let vanished = VaultError.unavailable("the vault folder is missing; is its disk mounted?")
      await #expect(throws: SessionError.storage(vanished)) { try await controller.token(replacing: first) }
      #expect(try await controller.token() == first)
      guard case .signedIn = controller.state else { throw Program.Failed(description: "\(controller.state)") }
      #expect(!FileManager.default.fileExists(atPath: base + "/home"))
      try FileManager.default.moveItem(atPath: base + "/away", toPath: base + "/home")
      let second = try await controller.token(replacing: first)
      #expect(second != first)
      #expect(cleared.withLock { $0 } == 0)
      let next = try await Probe.run([server.url, base + "/home/vault", "700", "0"])
      #expect(next.status == 0, "\(next.words)")
    }
  }
}

/// System programs.
enum Shell {
  static func mayMount() async -> Bool {
    let script = "d=$(mktemp -d) && mount -t tmpfs tmpfs $d && umount $d && rmdir $d"
    return (try? await run(["unshare", getuid() == 0 ? "-m" : "-rm", "sh", "-c", script]))?.status == 0
  }

  static func mayTrace() async -> Bool {
    guard await mayMount() else { return false }
    return (try? await run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=flock:error=ENOLCK", "true"]))?
      .status == 0
  }

  static func run(
    _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> (status: Int32, words: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let words = Pipe()
    process.standardOutput = FileHandle.nullDevice
    process.standardError = words
    process.standardInput = FileHandle.nullDevice
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    process.terminationHandler = { _ in end.finish() }
    try process.run()
    for await _ in ends {}
    // The test has timed out.
    if process.isRunning {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    return (process.terminationStatus, String(decoding: words.fileHandleForReading.availableData, as: UTF8.self))
  }
}
#endif
