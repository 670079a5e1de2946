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
    let text = "handstamp: this build has no commands\nhint: swift build --enable-all-traits --product handstamp\n"
    FileHandle.standardError.write(Data(text.utf8))
    exit(1)
  }
}
#endif
