#if Command
import Crypto
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// Files of the home in JSON, for their owner alone. Nothing in them is secret.
extension Home {
  /// The path of a file in a folder of the home. Its name is a digest of `text`: it reveals nothing, and is never too long.
  func file(in folder: String, for text: String, ending: String = "json") -> String {
    "\(path)/\(folder)/\(Hexadecimal.text(SHA256.hash(data: Array(text.utf8)))).\(ending)"
  }

  /// Replaces a file by a value in JSON, and makes its folder if it is missing.
  ///
  /// - Parameter isPretty: whether it is laid out for people.
  func write(_ value: some Encodable, to path: String, isPretty: Bool = false) throws(CommandError) {
    do {
      try makeFolder((path as NSString).deletingLastPathComponent)
      try AtomicFile.replace(path, with: value.jsonBytes(isPretty: isPretty))
    } catch {
      throw unwritable()
    }
  }

  /// Renames a file, which stays beside its place. Returns its new path.
  @discardableResult
  func setAside(_ path: String) throws(CommandError) -> String {
    var number = 1
    while FileFacts("\(path).corrupt-\(number)") != nil { number += 1 }
    guard rename(path, "\(path).corrupt-\(number)") == 0 else { throw unwritable() }
    return "\(path).corrupt-\(number)"
  }

  func makeFolder(_ path: String) throws {
    try check()
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }
}

extension PlainFile {
  /// Returns the value in a file in JSON; `nil` if there is no file. Throws why it cannot be read, such as `it is damaged`.
  static func json<Value: Decodable>(
    at path: String, as type: Value.Type = Value.self, limit: Int = 8 << 20
  ) throws(DescribedError) -> Value? {
    switch read(path, limit: limit) {
    case .absent: return nil
    case .unreadable(let why): throw DescribedError(why)
    case .content(let bytes):
      do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch {
        throw DescribedError("it is damaged")
      }
    }
  }

  /// Returns the value in a file in JSON; `nil` if there is none, or it cannot be read.
  static func value<Value: Decodable>(at path: String, limit: Int = 8 << 20) -> Value? {
    try? json(at: path, limit: limit)
  }
}
#endif
