#if Programs
import Foundation

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// A terminal that a test controls.
final class PseudoTerminal: Sendable {
  private let keyboard: FileHandle
  /// The standard input for a program.
  let screen: FileHandle

  init() throws {
    let (master, name) = try PseudoTerminal.open()
    keyboard = FileHandle(fileDescriptor: master, closeOnDealloc: true)
    guard let slave = FileHandle(forUpdatingAtPath: name) else {
      throw TourFailure("cannot open the pseudo-terminal")
    }
    screen = slave
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
  }

  private static func open() throws -> (master: Int32, name: String) {
    #if os(Linux)
    // posix_openpt is not imported; pts(4) describes its steps.
    let master = Foundation.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var unlocked: Int32 = 0
    var number: Int32 = 0
    let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
    guard master >= 0, ioctl(master, setLock, &unlocked) == 0, ioctl(master, getNumber, &number) == 0 else {
      throw TourFailure("no pseudo-terminal available")
    }
    return (master, "/dev/pts/\(number)")
    #else
    let master = posix_openpt(O_RDWR | O_NOCTTY)
    guard master >= 0, grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else {
      throw TourFailure("no pseudo-terminal available")
    }
    return (master, String(cString: name))
    #endif
  }

  /// Whether typed characters are shown.
  var echoes: Bool {
    var settings = termios()
    return tcgetattr(screen.fileDescriptor, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Types the text once the program has turned off the echo.
  func type(_ text: String) async throws {
    try await Step.until("a prompt") { !self.echoes }
    try keyboard.write(contentsOf: Data(text.utf8))
  }

  /// Types the text at once, for a prompt that shows it.
  func typeVisibly(_ text: String) throws { try keyboard.write(contentsOf: Data(text.utf8)) }

  /// Returns the output since the last call.
  var shown: String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(keyboard.fileDescriptor, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : ""
  }
}
#endif
