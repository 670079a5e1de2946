// Stands in for Apple's AppIntents; see Security.swift.
public import Foundation

/// Of Foundation there, and missing in Linux's.
@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public struct LocalizedStringResource: ExpressibleByStringInterpolation, Sendable, Hashable {
  public init(stringLiteral value: String) {}
}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public protocol AppIntent: Sendable {
  associatedtype PerformResult: IntentResult
  static var title: LocalizedStringResource { get }
  init()
  func perform() async throws -> PerformResult
}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public protocol IntentResult: Sendable {
  associatedtype Value = Never
}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public protocol ReturnsValue<Value>: IntentResult {}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public protocol ProvidesDialog: IntentResult {}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public struct IntentDialog: ExpressibleByStringInterpolation, Sendable {
  public init(stringLiteral value: String) {}
}

/// Apple's has three parameters more, for an intent that follows, a view and the dialog.
@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public struct IntentResultContainer<Value: Sendable>: ReturnsValue, ProvidesDialog {}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
extension IntentResult {
  public static func result<T: Sendable>(value: T, dialog: IntentDialog) -> Self
  where Self == IntentResultContainer<T> {
    IntentResultContainer()
  }
  public static func result() -> Self where Self == IntentResultContainer<Never> { IntentResultContainer() }
}

@available(iOS 17, macOS 14, watchOS 10, *)
@available(tvOS, unavailable)
public protocol WidgetConfigurationIntent: AppIntent where PerformResult == IntentResultContainer<Never> {}

@available(iOS 17, macOS 14, watchOS 10, *)
@available(tvOS, unavailable)
extension WidgetConfigurationIntent {
  public func perform() async throws -> IntentResultContainer<Never> { IntentResultContainer() }
}
