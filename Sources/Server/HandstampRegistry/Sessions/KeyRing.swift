/// The rotation keys of a session's last rotations, which tell a retry from a second use. Where a key came with the sign-in, it
/// counts as the first: of the rotation before the token 0.
public struct KeyRing: Sendable, Hashable {
  /// One accepted rotation.
  public enum Entry: Sendable, Hashable {
    /// The rotation took place with this key of the client.
    case keyed(KeyMark)
    /// The client sent no key, and the server drew this one.
    case drawn(KeyMark)
    /// The rotation took place, but the store lost it, so its key is not known.
    case unknown

    /// The mark in the token that the rotation made; `nil` if it is not known.
    var mark: KeyMark? {
      switch self {
      case .keyed(let mark), .drawn(let mark): mark
      case .unknown: nil
      }
    }

    /// Returns a rotation of the same kind with another mark.
    func with(_ mark: KeyMark) -> Entry {
      switch self {
      case .keyed: .keyed(mark)
      case .drawn: .drawn(mark)
      case .unknown: .unknown
      }
    }
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

  /// Nine bytes per entry: a tag and the mark; nine zeros for an unknown one.
  ///
  /// | tag | in a plain session | in a keyed session |
  /// |---|---|---|
  /// | 1 | drawn | keyed |
  /// | 2 | – | drawn |
  public func bytes(in kind: SessionKind) -> [UInt8] {
    // One array, and none for each entry: this runs on every refresh.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(9 * entries.count)
    for entry in entries {
      let tag: UInt8 =
        switch entry {
        case .keyed: 1
        case .drawn: KeyRing.drawnTag(in: kind)
        case .unknown: 0
        }
      bytes.append(tag)
      withUnsafeBytes(of: (entry.mark?.rawValue ?? 0).bigEndian) { bytes.append(contentsOf: $0) }
    }
    return bytes
  }

  private static func drawnTag(in kind: SessionKind) -> UInt8 { kind == .plain ? 1 : 2 }

  /// Parses ``bytes(in:)``. Returns `nil` for any other input.
  public init?(bytes: some Collection<UInt8>, in kind: SessionKind) {
    guard bytes.count % 9 == 0, bytes.count / 9 <= KeyRing.greatestSize else { return nil }
    let drawnTag = KeyRing.drawnTag(in: kind)
    // Copy into an array: slices of generic collections are slow, and this runs on every refresh.
    let bytes = Array(bytes)
    entries = []
    entries.reserveCapacity(bytes.count / 9)
    for start in stride(from: 0, to: bytes.count, by: 9) {
      var mark: UInt64 = 0
      for place in 1...8 { mark = mark << 8 | UInt64(bytes[start + place]) }
      switch (bytes[start], mark) {
      case (drawnTag, _): entries.append(.drawn(KeyMark(rawValue: mark)))
      case (1, _): entries.append(.keyed(KeyMark(rawValue: mark)))
      case (0, 0): entries.append(.unknown)
      case (_, _): return nil
      }
    }
  }
}
