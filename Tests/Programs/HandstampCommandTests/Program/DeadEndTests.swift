#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// A fault of a file or folder.
enum Wrong: String, CaseIterable, Sendable {
  case missing, empty, random, cut, otherJSON, newer, folder, fifo, link, foreign, open
}

extension Processes {
  /// Whatever is wrong with a file of an installation, every command ends, says what is wrong, and prints a hint with the
  /// command that fixes it. Nothing readable is lost, and nothing is deleted.
  @Suite struct `A damaged home` {
    /// A file in a home, as a path in which `ADA` stands for the first account's digest.
    struct Place: Sendable, CustomTestStringConvertible {
      var path: String
      var states: [Wrong] = [.missing, .empty, .random, .cut, .otherJSON, .folder, .fifo, .link]
      /// Whether the fault makes the session of the first account, or of the other one, unreadable.
      var losesFirst = false
      var losesSecond = false
      var testDescription: String { path }
    }

    private static let places = [
      Place(path: "settings.json", states: Wrong.allCases.filter { ![.newer, .open].contains($0) }),
      Place(path: "device", states: [.missing, .empty, .random, .folder, .fifo, .link, .foreign]),
      Place(path: "vault/accounts.json", states: Wrong.allCases.filter { $0 != .open }),
      Place(
        path: "vault/vault.key", states: Wrong.allCases.filter { $0 != .newer }, losesFirst: true, losesSecond: true),
      Place(path: "vault/vault.key-store", states: [.empty, .random, .newer, .folder, .fifo, .link]),
      Place(path: "vault/ADA.vault", states: Wrong.allCases.filter { $0 != .otherJSON }, losesFirst: true),
      Place(path: "vault/ADA.room", states: [.missing, .empty, .folder, .fifo, .link]),
      Place(path: "vault/ADA.lock", states: [.missing, .random, .folder, .fifo, .link]),
      Place(path: "vault/store.lock", states: [.missing, .folder, .fifo, .link]),
      Place(path: "vault/turn.lock", states: [.folder, .fifo, .link]),
      Place(path: "vault/ADA.audit", states: [.missing, .random, .cut, .folder, .fifo, .link]),
      Place(path: "vault/ADA.audit-lock", states: [.folder, .fifo, .link]),
      Place(path: "vault", states: [.missing, .empty, .fifo, .link, .open], losesFirst: true, losesSecond: true),
      Place(path: "folders", states: [.empty, .fifo, .link]),
      Place(path: "vault/accounts.sign-in", states: [.folder, .fifo]),
      Place(path: "oauth", states: [.empty, .fifo, .link]), Place(path: "refusals", states: [.empty, .fifo]),
      Place(path: "oauth/ADA.json", states: [.empty, .random, .folder, .fifo, .link]),
      Place(path: "folders/HERE.json", states: [.empty, .random, .folder, .fifo]),
      Place(path: "", states: [.empty, .fifo, .link, .open], losesFirst: true, losesSecond: true),
    ]

    /// The states to test at a place: a different third at each place, or all of them in a deep run.
    private static func states(of number: Int) -> [Wrong] {
      let all = places[number].states
      guard ProcessInfo.processInfo.environment["HANDSTAMP_DEEP"] == nil else { return all }
      let some = all.enumerated().filter { ($0.offset + number).isMultiple(of: 3) }.map(\.element)
      return some.isEmpty ? Array(all.prefix(1)) : some
    }

    @Test(arguments: places.indices)
    func `is fixed by the command in the hint`(number: Int) async throws {
      let place = Self.places[number]
      try await ProcessFixture.run { stage in
        let other = "bob@example.org"
        try await stage.signUp(stage.first, email: other)
        try await stage.signUp(stage.first)
        try await stage.signUp(stage.second, email: "eve@example.org")
        for state in Self.states(of: number) {
          let walk = try await Walk(stage, place, state, number: number, other: other)
          try await walk.run()
        }
      }
    }

    /// A test of one state of one file, on copies of the same home.
    private struct Walk {
      let stage: TourFixture
      let place: Place
      let state: Wrong
      let other: String
      let first: ListedAccount
      /// The access tokens of both accounts.
      let tokens: [String]
      /// Their IDs at the server, because names may be lost.
      let ids: [String]
      let folder: String
      /// The folder where commands run.
      let here: String
      var name: String { "\(place.path.isEmpty ? "the home" : place.path), \(state)" }

      init(_ stage: TourFixture, _ place: Place, _ state: Wrong, number: Int, other: String) async throws {
        (self.stage, self.place, self.state, self.other) = (stage, place, state, other)
        folder = "\(stage.folder)/\(number)-\(state)"
        here = "\(folder)/here"
        let known = try await KnownAccounts(of: stage.first)
        first = try #require(known.active)
        var tokens: [String] = []
        for account in [first, try known.account(other)] {
          guard case .value(let entry) = await stage.first.vault(of: account.id).read() else { continue }
          tokens.append(entry.session?.access?.credential.secret.withExposed { $0 } ?? "")
        }
        self.tokens = tokens
        ids = try [first, known.account(other)].map(\.idAtServer.rawValue)
        try #require(tokens.count == 2)
        try FileManager.default.createDirectory(atPath: here, withIntermediateDirectories: true)
      }

      func run() async throws {
        try await endsWithHints()
        try await leadsOut()
      }

      /// Runs every command, each on its own home if it changes it.
      private func endsWithHints() async throws {
        let commands = [["status"], ["token"], ["accounts"], ["doctor"], ["logout"], ["login"]]
        let examined = try home("examined")
        for command in commands {
          let home = ["logout", "login"].contains(command[0]) ? try home(command[0]) : examined
          let hasVault = self.hasSession(in: home)
          let outcome = try await handstamp(command, home)
          let said = "\(name): \(command): \(outcome.status) \(outcome.out)\(outcome.words)"
          if outcome.status != 0 {
            #expect(hint(of: outcome) != nil, "\(said)")
          }
          #expect(outcome.status < 128, "\(said)")
          // The existence of a stored session is never denied.
          if hasVault, command != ["doctor"] {
            for words in ["not signed in", "no accounts on this device", "signed out  "] {
              #expect(!outcome.words.contains(words) && !outcome.out.hasPrefix(words), "\(said)")
            }
          }
        }
      }

      /// Follows the hints as printed, until a token is available or signing in is required.
      private func leadsOut() async throws {
        let home = try home("out")
        let before = try contents(of: home)
        var steps: [String] = []
        var isOut = false
        for _ in 0..<4 where !isOut {
          var outcome = try await handstamp(["status"], home)
          if outcome.status == 0 { outcome = try await handstamp(["token"], home) }
          if outcome.status == 0 || outcome.status == ExitReason.signInNeeded.rawValue {
            isOut = true
          } else {
            let hint = try #require(self.hint(of: outcome), "\(name): \(outcome.words)")
            let command = try #require(
              hint.hasPrefix("run: ") ? hint.dropFirst("run: ".count) : nil, "\(name): \(hint)")
            steps.append(String(command))
            let step = try await shell(String(command), home)
            // Doctor may find more than it was asked to fix.
            #expect(step.status == 0 || command.contains("doctor"), "\(name): \(command): \(step.words)\(step.out)")
          }
        }
        #expect(isOut, "\(name): \(steps)")
        #expect(steps.count <= 2, "one command fixes it, plus a sign-in if the session is lost: \(name): \(steps)")
        if state == .open {
          #expect(
            !steps.contains { $0.contains("--set-aside") }, "\(name): a wrong mode must not cost a session: \(steps)")
        }
        let after = try contents(of: home)
        for (path, content) in before where !content.isEmpty && isKept(path) && !steps.contains(where: Walk.isSignIn) {
          #expect(after.values.contains(content), "\(name): \(path) was lost by \(steps)")
        }
        let isForeign = state == .foreign && place.path == "vault/ADA.vault"
        let isRead = ![.missing, .open].contains(state) || place.path != "vault"
        if !place.losesSecond || state == .open {
          let token = try await handstamp(["token", "--account", ids[1]], home)
          #expect(token.out == tokens[1] + "\n", "\(name): \(steps): \(token.words)")
        }
        if (!place.losesFirst || state == .open) && !isForeign && isRead && !steps.contains(where: Walk.isSignIn) {
          let token = try await handstamp(["token", "--account", ids[0]], home)
          #expect(token.out == tokens[0] + "\n", "\(name): \(steps): \(token.words)")
        }
        let arguments = ["login", stage.email, "--server", stage.address.text]
        var login = try await handstamp(arguments, home)
        if login.status != 0, let hint = self.hint(of: login), hint.hasPrefix("run: ") {
          // Something that blocks only signing in.
          steps.append(String(hint.dropFirst("run: ".count)))
          _ = try await shell(steps[steps.count - 1], home)
          login = try await handstamp(arguments, home)
        }
        #expect(login.status == 0, "\(name): \(steps): \(login.words)")
        let person = try await handstamp(["request", "/v1/me"], home)
        #expect(person.out.contains(stage.email), "\(name): \(steps): \(person.words)")
        var doctor = try await handstamp(["doctor"], home)
        if doctor.status != 0, let line = doctor.out.split(separator: "\n").first(where: { $0.contains("hint: run: ") })
        {
          // Something that blocks no command is reported only by doctor.
          let command = String(line.split(separator: "hint: run: ").last ?? "")
          _ = try await shell(command, home)
          doctor = try await handstamp(["doctor"], home)
        }
        #expect(doctor.status == 0, "\(name): \(steps): \(doctor.out)")
      }

      // MARK: Homes

      /// Returns a damaged copy of the first device's home.
      private func home(_ copy: String) throws -> String {
        let (files, home) = (FileManager.default, "\(folder)/\(copy)")
        try files.copyItem(atPath: stage.first.path, toPath: home)
        let path = try path(in: home)
        if ["folders", "oauth", "refusals"].contains(where: { place.path.hasPrefix($0 + "/") }) {
          try files.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        }
        let content = files.contents(atPath: path) ?? Data()
        if state == .open {
          chmod(path, files.contents(atPath: path) == nil ? 0o777 : 0o644)
          return home
        }
        try? files.removeItem(atPath: path)
        let url = URL(fileURLWithPath: path)
        switch state {
        case .missing, .open: break
        case .empty: try Data().write(to: url)
        // Not text, and the same in every run.
        case .random:
          try Data((0..<max(64, content.count)).map { UInt8(truncatingIfNeeded: $0 &* 193 &+ 0x9D) }).write(to: url)
        case .cut: try content.prefix(content.count * 2 / 3).write(to: url)
        case .otherJSON: try Data("[1,2]".utf8).write(to: url)
        case .newer: try newer(content).write(to: url)
        case .folder: try files.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .fifo: #expect(mkfifo(path, 0o600) == 0)
        case .link: try files.createSymbolicLink(atPath: path, withDestinationPath: "\(folder)/away/from/here")
        case .foreign: try foreign().write(to: url)
        }
        if FileFacts(path)?.isRegular == true { chmod(path, 0o600) }
        return home
      }

      private func path(in home: String) throws -> String {
        guard !place.path.isEmpty else { return home }
        let digest = VaultInspection.digest(of: first.id)
        switch place.path {
        case "oauth/ADA.json": return Home(path: home).oauthPath(of: first.id)
        case "folders/HERE.json":
          let real = try #require(realpath(here, nil))
          defer { free(real) }
          return FolderRules(of: Home(path: home)).file(of: String(cString: real))
        default: return "\(home)/" + place.path.replacing("vault/ADA", with: "vault/\(digest)")
        }
      }

      private func newer(_ content: Data) -> Data {
        guard place.path.hasSuffix(".vault") else {
          return Data((place.path.hasSuffix(".json") ? #"{"version":2,"accounts":[]}"# : "moon base 7\n").utf8)
        }
        var content = content
        content.replaceSubrange(8..<12, with: [0, 2, 255, 253])
        return content
      }

      /// The same file from the second device, where another account is signed in.
      private func foreign() throws -> Data {
        guard place.path.hasSuffix(".vault") else {
          return try Data(contentsOf: URL(fileURLWithPath: "\(stage.second.path)/\(place.path)"))
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: stage.second.vaultFolder)
        let name = try #require(names.first { $0.hasSuffix(".vault") })
        return try Data(contentsOf: URL(fileURLWithPath: "\(stage.second.vaultFolder)/\(name)"))
      }

      /// Whether there is, or may be, a stored session of the active account.
      private func hasSession(in home: String) -> Bool {
        guard FileFacts(home) != nil else { return false }
        guard FileFacts(home)?.isFolder == true else { return true }
        let vaults = "\(home)/vault"
        guard let facts = FileFacts(vaults) else { return false }
        guard facts.isFolder else { return true }
        return FileFacts("\(vaults)/\(VaultInspection.digest(of: first.id)).vault") != nil
      }

      /// Returns the contents of all files, by path.
      private func contents(of home: String) throws -> [String: Data] {
        var found: [String: Data] = [:]
        for parent in [home, home + ".aside"] where FileFacts(parent)?.isFolder == true {
          for name in try FileManager.default.subpathsOfDirectory(atPath: parent) {
            let path = "\(parent)/\(name)"
            if FileFacts(path)?.isRegular == true { found[path] = FileManager.default.contents(atPath: path) }
          }
        }
        return found
      }

      /// Whether a file contains user data.
      private func isKept(_ path: String) -> Bool {
        // A readable list is extended.
        if state == .foreign, path.hasSuffix("/accounts.json") { return false }
        return [".vault", ".key", ".json", "/device", ".key-store", ".audit"].contains { path.hasSuffix($0) }
      }

      private static func isSignIn(_ command: String) -> Bool { command.contains("handstamp login") }

      // MARK: Commands

      private func handstamp(_ arguments: [String], _ home: String) async throws -> Child.Outcome {
        let child = try Child(
          arguments, in: here, variables: ["HANDSTAMP_HOME": home], input: stage.password + "\n")
        return try await within(.seconds(240), "\(name): \(arguments)") { try await child.outcome() }
      }

      /// Runs a hint's command in a shell, as a user would.
      private func shell(_ command: String, _ home: String) async throws -> Child.Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.currentDirectoryURL = URL(fileURLWithPath: here, isDirectory: true)
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HANDSTAMP_") }
        let programs = (try Child.path() as NSString).deletingLastPathComponent
        environment["PATH"] = "\(programs):\(environment["PATH"] ?? "/usr/bin:/bin")"
        environment["HANDSTAMP_HOME"] = home
        process.environment = environment
        let input = Pipe()
        (process.standardInput, process.standardOutput) = (input, FileHandle.nullDevice)
        let ended = OneShot<Int32>()
        process.terminationHandler = { ended.set($0.terminationStatus) }
        try Child.withUsualSignals { try process.run() }
        try? input.fileHandleForWriting.write(contentsOf: Data((stage.password + "\n").utf8))
        try? input.fileHandleForWriting.close()
        let status = try await within(.seconds(240), "\(name): \(command)") { try await ended.value() }
        return Child.Outcome(program: "handstamp", status: status, out: "", words: "")
      }

      private func hint(of outcome: Child.Outcome) -> String? {
        outcome.words.split(separator: "\n").last { $0.hasPrefix("hint: ") }.map {
          String($0.dropFirst("hint: ".count))
        }
      }
    }
  }
}
#endif
