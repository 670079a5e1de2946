#if Programs
import HandstampCore

/// What closures put together.
final class Gathered<Element: Sendable>: Sendable {
  private let elements = Locked<[Element]>([])

  /// Returns how many there are now.
  @discardableResult
  func add(_ element: Element) -> Int {
    elements.withLock { elements in
      elements.append(element)
      return elements.count
    }
  }

  var all: [Element] { elements.withLock { $0 } }
}
#endif
