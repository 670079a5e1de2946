#if Operator && DEBUG
import ArgumentParser
import Dispatch
import Foundation

@testable import HandstampCommand
@testable import HandstampCommandLine

/// `make run`.
@main struct Tour: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "HandstampTour", abstract: "demonstrate, with real processes, that users stay signed in",
    discussion: """
      starts a server with a fresh database on a free local port, puts it and its clients through crashes, lost
      responses and a stolen token, and prints what it observes; removes everything at the end
      """)

  @Flag(help: "keep the server running at the end, until interrupted") var keep = false

  func run() async throws {
    let keep = keep
    let tour = Task { try await TourGuide(keep: keep).run() }
    let signals = [SIGINT, SIGTERM].map { number in
      // From here on, signals only cancel the task, so that it can clean up.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { tour.cancel() }
      source.resume()
      return source
    }
    defer { for signal in signals { signal.cancel() } }
    do { guard try await tour.value else { throw ExitCode.failure } } catch is CancellationError { throw ExitCode(2) }
  }
}
#else
import Foundation

@main struct Tour {
  static func main() {
    FileHandle.standardError.write(Data("HandstampTour: needs a debug build with all traits\nhint: make run\n".utf8))
    exit(1)
  }
}
#endif
