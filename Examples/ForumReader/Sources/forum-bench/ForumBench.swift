import ForumReader
import Foundation
import Handstamp
import HandstampCookies
import HandstampData

/// `forum-bench [rows]`: measures an account's store that contains a forum, and a scraper with a page of 100 kB. `rows`
/// is the number of posts in the large store, one million by default. Prints the figures to stdout; all files are in
/// one folder that is removed afterwards.
@main
struct ForumBench {
  static func main() async throws {
    let rows = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
    guard rows >= 40, rows % 40 == 0 else {
      FileHandle.standardError.write(Data("hint: forum-bench 1000000 (a multiple of 40)\n".utf8))
      exit(2)
    }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("forum-bench-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    #if DEBUG
    say("this is a debug build", "its figures are meaningless")
    #endif
    try scrape()
    try await upsert(in: StorePlace(folder: folder.appendingPathComponent("small")))
    try await large(rows, in: StorePlace(folder: folder.appendingPathComponent("large")))
  }

  /// A page of 40 posts and 100 kB, in the forum's style.
  private static func scrape() throws {
    var text =
      "<body data-forum=1 data-thread=2><div class=pages data-current-page=1 data-total-pages=9></div><div id=thread>"
    for number in 1...40 {
      text +=
        "<table class=post id=post\(number) data-idx=\(number)><td class=\"userinfo userid-7\"><dt class=author>Zoë"
      text += "<td class=postbody><blockquote><h4>ada posted:</h4>Tea & cake</blockquote>"
      text += String(repeating: "word <b>bold <i>both</b> later</i> &amp; more<br>", count: 50)
      text += "<tr><td class=postdate>Jan 2, 2026</table>\n"
    }
    let bytes = Windows1252.encode(text)
    var times: [Duration] = []
    for _ in 0..<50 {
      times.append(
        try time {
          let page: PostsPage = try HTMLPage(windows1252: bytes).scrape()
          guard page.posts.count == 40 else { throw BenchError("posts are missing") }
        })
    }
    say("scrape of a page of \(bytes.count / 1000) kB, 40 posts", "\(ms(times.sorted()[25])) (median of 50)")
  }

  /// Upserts 10,000 posts on 250 pages: new, unchanged, changed.
  private static func upsert(in place: StorePlace) async throws {
    let store = try ForumStore(place)
    for (name, text) in [("new", "one"), ("unchanged", "one"), ("changed", "two")] {
      let start = ContinuousClock.now
      for number in 0..<250 { try await store.keep(page(number, of: text)) }
      let time = ContinuousClock.now - start
      say("upsert of 10,000 posts, \(name), 250 pages", "\(ms(time)), \(Int(10_000 / (time / .seconds(1)))) rows/s")
    }
    let start = ContinuousClock.now
    try await store.keep(page(900, of: "three", count: 10_000))
    say("upsert of 10,000 posts, new, in one write", ms(ContinuousClock.now - start))
  }

  /// Opens a store of many rows, all of them too old, then prunes it while it is being read.
  private static func large(_ rows: Int, in place: StorePlace) async throws {
    let start = ContinuousClock.now
    try await fill(rows, place)
    let size = (try? FileManager.default.subpathsOfDirectory(atPath: place.folder.path))?.reduce(0) { sum, name in
      let path = place.folder.appendingPathComponent(name).path
      let bytes = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
      return sum + ((bytes ?? nil)?.intValue ?? 0)
    }
    say("filled with \(rows) posts", "\(ms(ContinuousClock.now - start)), \((size ?? 0) >> 20) MB on the disk")
    forget(place)
    var opened: ForumStore?
    let opening = try time {
      opened = try ForumStore(place)
      guard try opened?.now(.posts(thread: "7", page: 1)).count == 40 else { throw BenchError("posts are missing") }
    }
    guard let store = opened else { throw BenchError("no store") }
    say("open with \(rows) posts, first page read", ms(opening))

    let isDone = Flag()
    let reading = Task.detached { () throws -> [Duration] in
      var times: [Duration] = []
      var random = SystemRandomNumberGenerator()
      while !isDone.isSet {
        let thread = Int.random(in: 0..<rows / 40, using: &random)
        times.append(try time { _ = try store.now(.posts(thread: String(thread), page: 1)) })
        try await Task.sleep(for: .milliseconds(1))
      }
      return times.sorted()
    }
    var report = PruneReport()
    let before = ContinuousClock.now
    report = try await store.store.prune()
    let pruning = ContinuousClock.now - before
    isDone.set()
    let times = try await reading.value
    guard report.removed["post"] == rows else { throw BenchError("rows remain: \(report)") }
    say(
      "prune of \(rows) posts and \(report.removed["thread"] ?? 0) threads, space given back",
      "\(ms(pruning)), \(Int(Double(rows) / (pruning / .seconds(1)))) rows/s")
    say(
      "\(times.count) reads meanwhile", "median \(ms(times[times.count / 2])), slowest \(ms(times.last ?? .zero))")
  }

  /// Drops the files from the system's cache, so that opening reads from the disk.
  private static func forget(_ place: StorePlace) {
    #if os(Linux)
    for name in (try? FileManager.default.contentsOfDirectory(atPath: place.folder.path)) ?? [] {
      let file = open(place.folder.appendingPathComponent(name).path, O_RDONLY)
      guard file >= 0 else { continue }
      fsync(file)
      posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)
      close(file)
    }
    #endif
  }

  private static func fill(_ rows: Int, _ place: StorePlace) async throws {
    let store = try ForumStore(place, clock: longAgo)
    for thread in 0..<rows / 40 { try await store.keep(page(thread, of: "a post of some words, as people write them")) }
    try await store.store.flush()
  }

  private static func page(_ thread: Int, of text: String, count: Int = 40) -> PostsPage {
    PostsPage(
      thread: String(thread), forum: "1", title: "Thread \(thread)",
      posts: (1...count).map { number in
        PostsPage.Post(
          id: "\(thread)-\(number)", index: number, author: ForumUser(id: String(number % 20), name: "Zoë"),
          date: "Jan 2, 2026", text: "\(text), number \(number) of \(thread)", isSeen: false)
      }, pages: PageNumbers(current: 1, total: 1))
  }

  private static func time(_ body: () throws -> Void) rethrows -> Duration {
    let start = ContinuousClock.now
    try body()
    return ContinuousClock.now - start
  }

  private static func ms(_ time: Duration) -> String { String(format: "%.2f ms", time / .milliseconds(1)) }

  private static func say(_ what: String, _ figure: String) {
    FileHandle.standardOutput.write(Data("\(what): \(figure)\n".utf8))
  }
}

struct BenchError: Error {
  let text: String
  init(_ text: String) { self.text = text }
}

/// The time one month ago.
@Sendable func longAgo() -> UnixTime { ForumStore.now().advanced(by: .seconds(-30 * 86_400)) }

/// A flag that is set once.
// Unchecked: all access is under the lock.
final class Flag: @unchecked Sendable {
  private let lock = NSLock()
  private var value = false
  var isSet: Bool { lock.withLock { value } }
  func set() { lock.withLock { value = true } }
}
