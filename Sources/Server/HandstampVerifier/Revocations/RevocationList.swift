#if Verifier
import Crypto
import HandstampSupport

/// The sessions that have ended while tokens of theirs may still be valid, each with the time when they are over.
///
/// Sorted by the session's ID, in pages of at most ``RevocationList/pageSize``. A new session is put into its page; a full
/// page is split in two. So nothing larger than a page is ever moved or copied, and there is no peak while the list grows: a
/// session takes 20 bytes, 29 in all with the free places of pages. Pages that expiry has emptied are joined again.
package struct RevocationList: Sendable {
  /// A session: the 128 bits that its ID encodes, as IDs of Handstamp do; of any other ID, as many bits of its SHA-256. So IDs of any
  /// length take the same place.
  package struct Key: Hashable, Comparable, Sendable {
    let high: UInt64
    let low: UInt64

    package init(_ session: String) {
      var session = session
      self = session.withUTF8 { bytes in
        if let (high, low) = Base64URL.decode128(bytes) { return Key(high: high, low: low) }
        var hash = SHA256()
        hash.update(bufferPointer: UnsafeRawBufferPointer(bytes))
        return hash.finalize().withUnsafeBytes { digest in
          Key(
            high: digest.loadUnaligned(fromByteOffset: 0, as: UInt64.self).bigEndian,
            low: digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian)
        }
      }
    }

    init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    @inline(__always) package static func < (one: Key, other: Key) -> Bool {
      one.high != other.high ? one.high < other.high : one.low < other.low
    }
  }

  private struct Page: Sendable {
    var keys: [Key] = []
    /// Seconds since 1970, of the session at the same place.
    var ends: [UInt32] = []

    init() {
      keys.reserveCapacity(pageSize)
      ends.reserveCapacity(pageSize)
    }
  }

  static let pageSize = 512
  /// How many pages one call of ``removeExpired(at:)`` looks at.
  private static let sweep = 16

  /// How many sessions there may be.
  let capacity: Int
  package private(set) var count = 0
  /// In order. None is empty, unless it is the only one.
  private var pages = [Page()]
  /// The first key of each page; of the first page, the least of all keys.
  private var firsts = [Key(high: 0, low: 0)]
  private var swept = 0

  package init(capacity: Int) { self.capacity = max(1, capacity) }

  /// Whether the session has ended. Its tokens have expired anyway once its time has passed, so that is not compared.
  package func contains(_ session: String) -> Bool { contains(Key(session)) }

  func contains(_ key: Key) -> Bool {
    let page = page(of: key)
    let place = RevocationList.place(of: key, in: pages[page].keys)
    return place < pages[page].keys.count && pages[page].keys[place] == key
  }

  /// Adds a session, or extends its time.
  ///
  /// - Parameter end: when its last token expires, in seconds since 1970.
  /// - Returns: `false` if there is no room.
  package mutating func insert(_ key: Key, until end: Int64) -> Bool {
    // Beyond the year 2106, a session stays.
    let end = UInt32(clamping: end)
    var page = page(of: key)
    var place = RevocationList.place(of: key, in: pages[page].keys)
    if place < pages[page].keys.count, pages[page].keys[place] == key {
      pages[page].ends[place] = max(pages[page].ends[place], end)
      return true
    }
    guard count < capacity else { return false }
    if pages[page].keys.count == RevocationList.pageSize {
      split(page)
      if place > pages[page].keys.count {
        place -= pages[page].keys.count
        page += 1
      }
    }
    pages[page].keys.insert(key, at: place)
    pages[page].ends.insert(end, at: place)
    count += 1
    return true
  }

  /// Removes sessions whose time has passed, from a part of the list: call it often.
  mutating func removeExpired(at now: Int64) {
    let now = UInt32(clamping: now)
    for _ in 0..<min(RevocationList.sweep, pages.count) {
      if swept >= pages.count { swept = 0 }
      if pages[swept].ends.contains(where: { $0 < now }) { removeExpired(from: swept, at: now) }
      if !join(swept) { swept += 1 }
    }
  }

  private mutating func removeExpired(from page: Int, at now: UInt32) {
    var kept = 0
    for place in pages[page].keys.indices where pages[page].ends[place] >= now {
      pages[page].keys[kept] = pages[page].keys[place]
      pages[page].ends[kept] = pages[page].ends[place]
      kept += 1
    }
    let removed = pages[page].keys.count - kept
    pages[page].keys.removeLast(removed)
    pages[page].ends.removeLast(removed)
    count -= removed
  }

  /// Joins a page with the next one if both together leave room for more. Returns whether it did.
  private mutating func join(_ page: Int) -> Bool {
    guard page + 1 < pages.count, pages[page].keys.count + pages[page + 1].keys.count <= RevocationList.pageSize * 2 / 3
    else { return false }
    let next = pages.remove(at: page + 1)
    firsts.remove(at: page + 1)
    pages[page].keys += next.keys
    pages[page].ends += next.ends
    return true
  }

  private mutating func split(_ page: Int) {
    let half = RevocationList.pageSize / 2
    var next = Page()
    next.keys += pages[page].keys[half...]
    next.ends += pages[page].ends[half...]
    pages[page].keys.removeLast(next.keys.count)
    pages[page].ends.removeLast(next.ends.count)
    firsts.insert(next.keys[0], at: page + 1)
    pages.insert(next, at: page + 1)
  }

  /// The last page that begins at or before `key`.
  private func page(of key: Key) -> Int {
    let next = RevocationList.place(of: key, in: firsts)
    return next < firsts.count && firsts[next] == key ? next : next - 1
  }

  /// The first place whose key is not before `key`.
  @inline(__always) private static func place(of key: Key, in keys: [Key]) -> Int {
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
#endif
