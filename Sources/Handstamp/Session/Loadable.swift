/// Something that is loaded from somewhere.
public enum Loadable<Value: Sendable>: Sendable {
  case notInitiated
  case loading
  case success(Value)
  case failure(SessionError)

  /// What was loaded; nothing in every other case.
  public var value: Value? {
    if case .success(let value) = self { value } else { nil }
  }
}

extension Loadable: Equatable where Value: Equatable {}
extension Loadable: Hashable where Value: Hashable {}
