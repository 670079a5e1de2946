#if Programs
import Foundation

/// Looks for many secrets in many bytes at once.
struct SecretScan {
  /// By their first eight bytes: few positions of a file begin like one.
  private var needles: [UInt64: [[UInt8]]] = [:]

  /// Each secret as it is, and its random parts as bytes where it is text in base64.
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
    // The head of a token of ours says only how it is signed: it is the same for all.
    guard bytes.count >= 8, !bytes.starts(with: Array(#"{"alg""#.utf8)),
      !bytes.starts(with: Array("eyJ".utf8)) || bytes.contains(46)
    else { return }
    needles[SecretScan.head(bytes[...]), default: []].append(bytes)
  }

  /// Whether any of them is in `bytes`.
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
