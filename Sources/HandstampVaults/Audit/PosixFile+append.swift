import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension PosixFile {
  /// Appends all of `bytes` to a file opened with `O_APPEND`.
  func append(_ bytes: [UInt8], attempt: String) throws(VaultError) {
    var count = 0
    while count < bytes.count {
      count += try checked(attempt) {
        bytes.withUnsafeBytes { Self.append(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count) }
      }
    }
  }

  private static func append(_ descriptor: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
    // `write` is also a method of this type.
    #if canImport(Darwin)
    Darwin.write(descriptor, start, count)
    #elseif canImport(Glibc)
    Glibc.write(descriptor, start, count)
    #else
    Musl.write(descriptor, start, count)
    #endif
  }

  /// Reads at most `count` bytes from offset `start`.
  func read(from start: Int, count: Int) throws(VaultError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(0, count))
    var done = 0
    while done < bytes.count {
      let read = try checked("reading a file") {
        bytes.withUnsafeMutableBytes {
          pread(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done, off_t(start + done))
        }
      }
      if read == 0 { break }
      done += read
    }
    bytes.removeLast(bytes.count - done)
    return bytes
  }

  func truncate(to size: Int) throws(VaultError) {
    try checked("cutting a file") { ftruncate(descriptor, off_t(size)) }
  }
}
