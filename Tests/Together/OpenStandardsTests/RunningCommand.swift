#if Programs
import Foundation
import HandstampTesting
import Testing

/// A command that waits for its user, as its words in a file show.
struct RunningCommand {
  let log: String

  /// Returns what `find` finds in its lines, once it has printed it.
  ///
  /// - Throws: An error if it prints a hint: it has given up.
  func line<Found>(_ find: ([Substring]) throws -> Found?) async throws -> Found {
    let found = try await eventually { () throws -> Found? in
      let words = try String(contentsOfFile: log, encoding: .utf8)
      try #require(!words.contains("hint:"), "\(words)")
      // The last one may lack its end.
      return try find(words[..<(words.lastIndex(of: "\n") ?? words.startIndex)].split(separator: "\n"))
    }
    return try #require(found)
  }

  /// The code to enter on another device.
  func code() async throws -> String {
    try await line { $0.first { $0.contains("enter the code ") }?.split(separator: " ").last.map(String.init) }
  }

  /// Waits until it says that it finishes a request before it ends.
  func finishesRequest() async throws {
    let isSaid = try await eventually {
      try String(contentsOfFile: log, encoding: .utf8).contains("finishing a request")
    }
    #expect(isSaid)
  }
}
#endif
