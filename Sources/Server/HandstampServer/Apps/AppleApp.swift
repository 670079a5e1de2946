#if Server
import HandstampSupport

/// An app of the operator on Apple's systems, by its App ID: the App ID prefix, mostly the team ID, and the bundle ID.
public struct AppleApp: Sendable, Hashable {
  /// Such as `ABCDE12345.org.example.forum`.
  public let id: String

  /// `nil` if the text is not an App ID.
  public init?(_ id: String) {
    let parts = id.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count > 1, parts[0].count == 10,
      parts[0].allSatisfy({ $0.isDigit || $0.isLetter && !$0.isLowercaseLetter }),
      parts.dropFirst().allSatisfy({ part in
        !part.isEmpty && part.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") }
      })
    else { return nil }
    self.id = id
  }
}
#endif
