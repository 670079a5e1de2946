import HandstampCore
import HandstampSupport

extension PosixFile {
  /// Appends all of `bytes` to a file opened with `O_APPEND`.
  func append(_ bytes: [UInt8], attempt: String) throws(VaultError) {
    try asVaultError { () throws(SystemError) in try SystemCall.write(bytes, to: descriptor, attempt: attempt) }
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
}
