public import Combine
public import Observation

final class Box<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
}

@propertyWrapper public struct State<Value> {
  private let box: Box<Value>
  public init(wrappedValue: Value) { box = Box(wrappedValue) }
  public init(initialValue: Value) { box = Box(initialValue) }
  public var wrappedValue: Value {
    get { box.value }
    nonmutating set { box.value = newValue }
  }
  public var projectedValue: Binding<Value> { Binding(get: { box.value }, set: { box.value = $0 }) }
}

@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
  private let getter: () -> Value
  private let setter: (Value) -> Void
  public init(get: @escaping () -> Value, set: @escaping (Value) -> Void) {
    getter = get
    setter = set
  }
  public var wrappedValue: Value {
    get { getter() }
    nonmutating set { setter(newValue) }
  }
  public var projectedValue: Binding<Value> { self }
  public subscript<Subject>(dynamicMember path: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
    Binding<Subject>(get: { getter()[keyPath: path] }, set: { _ in })
  }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)
@propertyWrapper @dynamicMemberLookup public struct Bindable<Value> {
  public var wrappedValue: Value
  public init(wrappedValue: Value) where Value: Observable & AnyObject { self.wrappedValue = wrappedValue }
  public init(_ wrappedValue: Value) where Value: Observable & AnyObject { self.wrappedValue = wrappedValue }
  public var projectedValue: Bindable<Value> { self }
  public subscript<Subject>(dynamicMember path: ReferenceWritableKeyPath<Value, Subject>) -> Binding<Subject>
  where Value: AnyObject {
    Binding<Subject>(get: { wrappedValue[keyPath: path] }, set: { wrappedValue[keyPath: path] = $0 })
  }
}

public struct EnvironmentValues {
  @available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
  public var scenePhase: ScenePhase { .active }
}

@propertyWrapper public struct Environment<Value> {
  private let read: () -> Value
  public init(_ path: KeyPath<EnvironmentValues, Value>) { read = { EnvironmentValues()[keyPath: path] } }
  @available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)
  public init(_ type: Value.Type) where Value: AnyObject & Observable { read = { fatalError() } }
  public var wrappedValue: Value { read() }
}

@available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
public enum ScenePhase: Comparable, Sendable { case background, inactive, active }

@propertyWrapper public struct ObservedObject<ObjectType: ObservableObject> {
  public var wrappedValue: ObjectType
  public init(wrappedValue: ObjectType) { self.wrappedValue = wrappedValue }
}

@available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
@MainActor @preconcurrency @propertyWrapper public struct StateObject<ObjectType: ObservableObject> {
  public var wrappedValue: ObjectType { fatalError() }
  public nonisolated init(wrappedValue thunk: @autoclosure @escaping () -> ObjectType) {}
}

@MainActor @preconcurrency @propertyWrapper public struct EnvironmentObject<ObjectType: ObservableObject> {
  public nonisolated init() {}
  public var wrappedValue: ObjectType { fatalError() }
}

extension View {
  public func environmentObject<T: ObservableObject>(_ object: T) -> some View { Opaque() }
}
