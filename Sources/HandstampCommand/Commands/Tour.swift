#if Programs
import ArgumentParser
import Dispatch
import Foundation

/// `handstamp tour`.
struct Tour: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "shows with real processes that who signs in stays signed in",
    discussion: """
      starts a server on a free port of this machine with a fresh database, does to it and to its clients what the world
      does, and prints what it observed; everything is removed at the end
      """)

  @Flag(help: "leave the server running at the end, until it is interrupted") var keep = false

  func run() async throws {
    let keep = keep
    let tour = Task { try await TourGuide(keep: keep).run() }
    let signals = [SIGINT, SIGTERM].map { number in
      // From here on the task ends the program, so that nothing is left behind.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { tour.cancel() }
      source.resume()
      return source
    }
    defer { for signal in signals { signal.cancel() } }
    guard try await tour.value else { throw ExitCode.failure }
  }
}
#endif
