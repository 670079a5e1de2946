/// The rotation keys of a session's last rotations, which tell a retry from a replay.
public struct KeyRing: Sendable, Hashable {
  /// One accepted rotation.
  public enum Entry: Sendable, Hashable {
    /// The rotation took place with this key.
    case known(KeyMark)
    /// The rotation took place, but the store lost it, so its key is not known.
    case unknown
  }

  /// How many rotations a ring remembers.
  public static let size = 32
  /// The maximum size of a stored ring, whichever version wrote it.
  static let greatestSize = 255

  /// The oldest first; the last one led to the session's current counter.
  public private(set) var entries: [Entry]

  public init() { entries = [] }
  package init(_ entries: [Entry]) { self.entries = entries }

  /// Appends a rotation and drops the oldest ones beyond `size`.
  mutating func append(_ entry: Entry, keeping size: Int) {
    entries.append(entry)
    if entries.count > size { entries.removeFirst(entries.count - size) }
  }

  /// Nine bytes per entry: 1 and the mark, or nine zeros for an unknown one.
  public var bytes: [UInt8] {
    entries.flatMap { entry in
      switch entry {
      case .known(let mark): [1] + bigEndian(mark.rawValue)
      case .unknown: [UInt8](repeating: 0, count: 9)
      }
    }
  }

  /// Parses ``bytes``. Returns `nil` for any other input.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count % 9 == 0, bytes.count / 9 <= KeyRing.greatestSize else { return nil }
    // Copy into an array: slices of generic collections are slow, and this runs on every refresh.
    let bytes = Array(bytes)
    entries = []
    entries.reserveCapacity(bytes.count / 9)
    for start in stride(from: 0, to: bytes.count, by: 9) {
      var mark: UInt64 = 0
      for place in 1...8 { mark = mark << 8 | UInt64(bytes[start + place]) }
      switch (bytes[start], mark) {
      case (1, _): entries.append(.known(KeyMark(rawValue: mark)))
      case (0, 0): entries.append(.unknown)
      case (_, _): return nil
      }
    }
  }
}
