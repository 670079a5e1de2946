#if Programs
import ArgumentParser
import Foundation
import Testing

@testable import HandstampCommandLine
@testable import HandstampOperator

@Suite(.timeLimit(.minutes(10))) struct `The data folder that root names` {
  /// Files that root writes into a user's folder are given to that user, the keys of a restored backup included.
  @Test(
    .enabled(if: geteuid() == 0),
    arguments: [(0o1777, 65_534, true), (0o755, 65_534, false), (0o1777, 0, false)] as [(Int, UInt32, Bool)])
  func `is not one that somebody may have made for it`(above: Int, owner: UInt32, isRefused: Bool) async throws {
    try await ProcessFixture.inFolder { place in
      let folder = place + "/trial"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      #expect(chmod(place, mode_t(above)) == 0 && chown(folder, owner, owner) == 0)
      let options = try AdminOptions.parse(["--data", folder])
      var refusal: CommandError?
      do throws(CommandError) { _ = try options.folder() } catch { refusal = error }
      #expect((refusal != nil) == isRefused)
      #expect(refusal?.message.contains("everyone can make folders beside it") ?? true)
    }
  }
}
#endif
