#if Server
import CHandstampFiles

/// The most common passwords of at least 8 characters, in lower case. The list is Django's, see NOTICE.
enum CommonPasswords {
  static let all = Set(
    String(decoding: handstamp_common_passwords().buffer, as: UTF8.self).split(whereSeparator: \.isWhitespace))
}

extension handstamp_file {
  /// The content of a file that is part of the program.
  var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: bytes, count: count) }
}
#endif
