#if HTTP
import Dispatch
import HandstampSupport

/// Memory that was freed, but that the allocator keeps.
enum FreedMemory {
  /// Gives it back to the system, in the background. glibc gives back by itself only what lies at the end of a heap, so that a
  /// server would keep the memory of its busiest minute.
  static func giveBack() {
    guard let trim else { return }
    // After the last objects of the connections are gone, too.
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 0.5) { _ = trim(0) }
  }

  /// `malloc_trim(3)`, which only glibc has.
  private static let trim: (@convention(c) @Sendable (Int) -> Int32)? = {
    #if canImport(Glibc)
    guard let symbol = dlsym(nil, "malloc_trim") else { return nil }
    return unsafeBitCast(symbol, to: (@convention(c) @Sendable (Int) -> Int32).self)
    #else
    return nil
    #endif
  }()
}
#endif
