#if Programs
import HandstampCore
import HandstampSupport

/// Values collected by closures.
final class Gathered<Element: Sendable>: Sendable {
  private let elements = Locked<[Element]>([])

  /// Adds an element, and returns the new count.
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
