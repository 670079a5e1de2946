#if Operator && DEBUG
import Foundation

/// Searches data for many secrets at once.
struct SecretScan {
  /// Secrets by their first eight bytes, which few positions of a file match.
  private var needles: [UInt64: [[UInt8]]] = [:]

  /// Searches for each secret as text, and for its random parts as decoded bytes if it is base64.
  init(_ secrets: some Sequence<String>) {
    for secret in secrets {
      add(Array(secret.utf8))
      for part in secret.split(separator: ".") where part.utf8.count >= 16 {
        add(Array(part.utf8))
        if let bytes = SecretScan.decoded(part) { add(bytes) }
      }
    }
  }

  private mutating func add(_ bytes: [UInt8]) {
    // The header of a Handstamp token names only the signature algorithm; it is the same for all.
    guard bytes.count >= 8, !bytes.starts(with: Array(#"{"alg""#.utf8)),
      !bytes.starts(with: Array("eyJ".utf8)) || bytes.contains(46)
    else { return }
    needles[SecretScan.head(bytes[...]), default: []].append(bytes)
  }

  /// Returns whether `bytes` contains any of the secrets.
  func finds(in bytes: [UInt8]) -> Bool {
    guard bytes.count >= 8 else { return false }
    var head: UInt64 = 0
    for index in bytes.indices {
      head = head << 8 | UInt64(bytes[index])
      guard index >= 7, let candidates = needles[head] else { continue }
      if candidates.contains(where: { bytes[(index - 7)...].starts(with: $0) }) { return true }
    }
    return false
  }

  private static func head(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

  private static func decoded(_ text: Substring) -> [UInt8]? {
    var text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    while !text.utf8.count.isMultiple(of: 4) { text += "=" }
    return Data(base64Encoded: text).map { Array($0) }
  }
}
#endif
