import Foundation
import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct `A new file` {
  @Test func `takes the place of a file, and of nothing else`() throws {
    let folder = NSTemporaryDirectory() + "handstamp-new-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (file, pipe, link) = (folder + "/file", folder + "/pipe", folder + "/link")
    for text in ["an earlier attempt", "ab"] { try NewFile(file).append(Array(text.utf8)) }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "ab")
    try #require(mkfifo(pipe, 0o600) == 0)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    for place in [pipe, link, folder] {
      let error = #expect(throws: SystemError.self) { try NewFile(place) }
      #expect(error?.code == EEXIST, "\(place)")
    }
    var facts = stat()
    #expect(lstat(pipe, &facts) == 0 && facts.st_mode & S_IFMT == S_IFIFO)
  }
}
