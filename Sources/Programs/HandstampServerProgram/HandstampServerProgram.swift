#if Operator
import HandstampOperator

@main struct HandstampServerProgram {
  static func main() async { await runHandstampServer() }
}
#else
import Foundation

/// The program in a build without traits.
@main struct HandstampServerProgram {
  static func main() {
    let hint = "build it with: swift build --product handstamp-server --traits Programs"
    FileHandle.standardError.write(Data("handstamp-server: this build has no commands\nhint: \(hint)\n".utf8))
    exit(1)
  }
}
#endif
