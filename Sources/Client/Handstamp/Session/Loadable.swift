/// The state of a value that is loaded.
public enum Loadable<Value: Sendable>: Sendable {
  /// Loading has not begun.
  case notInitiated
  case loading
  case success(Value)
  case failure(SessionError)

  /// The loaded value; `nil` in every other case.
  public var value: Value? {
    if case .success(let value) = self { value } else { nil }
  }
}

extension Loadable: Equatable where Value: Equatable {}
extension Loadable: Hashable where Value: Hashable {}
