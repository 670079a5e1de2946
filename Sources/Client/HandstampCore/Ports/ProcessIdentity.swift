/// A process, told apart from a later one with the same number.
public struct ProcessIdentity: Sendable, Hashable {
  /// The process ID.
  public var id: Int32
  /// When it began, in a unit of the system's, counted from the boot; `nil` if unknown.
  public var startedAt: UInt64?
  /// The namespace of its ID, as of a container; `nil` if unknown.
  public var namespace: UInt64?

  public init(id: Int32, startedAt: UInt64? = nil, namespace: UInt64? = nil) {
    self.id = id
    self.startedAt = startedAt
    self.namespace = namespace
  }

  /// Whether a process of `other`'s namespace can find out whether this one has ended. Its boot must be the same, too.
  package func isVisible(to other: ProcessIdentity) -> Bool {
    startedAt != nil && namespace != nil && namespace == other.namespace
  }
}
