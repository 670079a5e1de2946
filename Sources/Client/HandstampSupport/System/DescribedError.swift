/// An error that is only shown: no caller tells one from another.
package struct DescribedError: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
