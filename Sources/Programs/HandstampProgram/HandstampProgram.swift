#if Command
import HandstampCommand

@main struct HandstampProgram {
  static func main() async { await runHandstamp() }
}
#else
import Foundation

/// The program in a build without traits.
@main struct HandstampProgram {
  static func main() {
    let hint = "build it with: swift build --product handstamp --traits Programs"
    FileHandle.standardError.write(Data("handstamp: this build has no commands\nhint: \(hint)\n".utf8))
    exit(1)
  }
}
#endif
