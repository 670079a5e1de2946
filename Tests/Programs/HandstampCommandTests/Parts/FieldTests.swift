#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Environments and terminals as they are.
@Suite(.timeLimit(.minutes(10))) struct `An environment from the field` {
  @Test(
    arguments: [
      ("firefox %s", ["firefox", "URL"]), ("none:firefox", ["firefox", "URL"]),
      ("firefox --new-window", ["firefox", "--new-window", "URL"]),
      ("none %s:/opt/b --url=%s -x", ["/opt/b", "--url=URL", "-x"]), ("none", nil), (":", nil), ("", nil),
    ] as [(String, [String]?)])
  func `names a browser in any of the usual ways`(list: String, command: [String]?) {
    let found = Browser.command(in: list, for: "URL") { ["firefox", "/opt/b"].contains($0) }
    #expect(found == command)
  }

  #if !os(macOS)
  @Test(
    arguments: [
      ([:], false), (["DISPLAY": ":0"], true), (["WAYLAND_DISPLAY": "wayland-0"], true), (["BROWSER": "firefox"], true),
      (["DISPLAY": "", "WAYLAND_DISPLAY": "wayland-0"], true),
      (["DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""], false),
    ] as [([String: String], Bool)])
  func `has a desktop if any of the variables says so`(variables: [String: String], isLikely: Bool) {
    #expect(Browser.hasDesktop { variables[$0].flatMap { $0.isEmpty ? nil : $0 } } == isLikely)
  }
  #endif

  @Test func `turns no text around`() {
    #expect("ada\u{202E}moc.elpmaxe\u{2066}\u{1B}[2J".onOneLine == "ada?moc.elpmaxe??[2J")
    #expect("Zoë’s 📱 👨‍👩‍👧".onOneLine == "Zoë’s 📱 👨‍👩‍👧")
  }
}

extension Processes {
  @Suite struct `The output of a command` {
    /// Runs the program by a shell, which decides where its output goes.
    private func shell(_ script: String, home: String) throws -> (status: Int32, words: String) {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/bash")
      process.arguments = ["-c", script, try Child.path()]
      process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HANDSTAMP_") }
        .merging(["HANDSTAMP_HOME": home]) { $1 }
      let errors = Pipe()
      process.standardError = errors
      process.standardInput = FileHandle.nullDevice
      try process.run()
      let words = errors.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: words, as: UTF8.self))
    }

    @Test func `that cannot be written is a failure`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        for verb in ["token", "status", "accounts"] {
          let outcome = try shell("\"$0\" \(verb) > /dev/full", home: stage.first.path)
          #expect(outcome.status == 1 && outcome.words.contains("cannot write the output"), "\(verb): \(outcome)")
        }
        // A reader that has enough is no failure.
        let short = try shell("\"$0\" status | true; exit ${PIPESTATUS[0]}", home: stage.first.path)
        #expect(!short.words.contains("cannot write"), "\(short)")
      }
    }

    @Test func `is the token of the environment without the line break, or a refusal`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try await ProcessFixture.handstamp(
          ["token"], home: stage.first.path, variables: ["HANDSTAMP_TOKEN": "  abc.def\n"])
        #expect(token.out == "abc.def\n" && token.status == 0)
        for bad in ["abc def", "abc\ndef", "é"] {
          let outcome = try await ProcessFixture.handstamp(
            ["token"], home: stage.first.path, variables: ["HANDSTAMP_TOKEN": bad])
          try expectRefusal(outcome, .usage, naming: "HANDSTAMP_TOKEN", hint: "unset")
        }
      }
    }
  }
}
#endif
