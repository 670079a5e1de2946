public import Foundation
public import Observation

#if canImport(UIKit)
public import UIKit

extension View {
  @available(iOS 13, tvOS 13, *)
  @available(watchOS, unavailable)
  public func keyboardType(_ type: UIKeyboardType) -> some View { Opaque() }
  /// On macOS and watchOS with types of their own
  @available(iOS 13, tvOS 13, *)
  public func textContentType(_ type: UITextContentType?) -> some View { Opaque() }
  @available(iOS 15, tvOS 15, watchOS 8, *)
  @available(macOS, unavailable)
  public func textInputAutocapitalization(_ style: TextInputAutocapitalization?) -> some View { Opaque() }
}
#endif

public struct TextInputAutocapitalization: Sendable {
  public static var never: TextInputAutocapitalization { TextInputAutocapitalization() }
}

public struct Font: Sendable {
  public static let largeTitle = Font()
  public static let footnote = Font()
  @available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
  public static let title2 = Font()
}

public enum TextAlignment: Sendable { case leading, center, trailing }
public enum Visibility: Sendable { case automatic, visible, hidden }

public struct Edge: Sendable {
  public struct Set: OptionSet, Sendable {
    public var rawValue: Int8
    public init(rawValue: Int8) { self.rawValue = rawValue }
    public static let all = Set(rawValue: 15)
  }
}

@available(iOS 13, macOS 10.15, tvOS 13, watchOS 6, *)
public protocol ShapeStyle: Sendable {}
public struct Color: ShapeStyle { public init() {} }
public struct HierarchicalShapeStyle: ShapeStyle { public init() {} }
extension ShapeStyle where Self == Color {
  public static var red: Color { Color() }
  public static var white: Color { Color() }
}
@available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
public struct BackgroundStyle: ShapeStyle { public init() {} }
extension ShapeStyle where Self == BackgroundStyle {
  public static var background: BackgroundStyle { BackgroundStyle() }
}
extension ShapeStyle where Self == HierarchicalShapeStyle {
  public static var secondary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
}

public protocol PrimitiveButtonStyle {}
@available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
public struct BorderedProminentButtonStyle: PrimitiveButtonStyle {}
@available(iOS 13, macOS 10.15, tvOS 17, watchOS 8, *)
public struct BorderlessButtonStyle: PrimitiveButtonStyle {}
extension PrimitiveButtonStyle where Self == BorderedProminentButtonStyle {
  public static var borderedProminent: BorderedProminentButtonStyle { BorderedProminentButtonStyle() }
}
extension PrimitiveButtonStyle where Self == BorderlessButtonStyle {
  public static var borderless: BorderlessButtonStyle { BorderlessButtonStyle() }
}

public struct AccessibilityChildBehavior: Sendable {
  public static let combine = AccessibilityChildBehavior()
}

extension View {
  public func id<ID: Hashable>(_ id: ID) -> some View { Opaque() }
  public func font(_ font: Font?) -> some View { Opaque() }
  public func multilineTextAlignment(_ alignment: TextAlignment) -> some View { Opaque() }
  public func fixedSize(horizontal: Bool, vertical: Bool) -> some View { Opaque() }
  public func padding(_ edges: Edge.Set = .all, _ length: CGFloat? = nil) -> some View { Opaque() }
  public func padding(_ length: CGFloat) -> some View { Opaque() }
  public func frame(
    minWidth: CGFloat? = nil, idealWidth: CGFloat? = nil, maxWidth: CGFloat? = nil, minHeight: CGFloat? = nil,
    idealHeight: CGFloat? = nil, maxHeight: CGFloat? = nil, alignment: Alignment = .center
  ) -> some View { Opaque() }
  public func frame(
    width: CGFloat? = nil, height: CGFloat? = nil, alignment: Alignment = .center
  ) -> some View { Opaque() }
  @available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
  public func monospaced(_ isActive: Bool = true) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func task<T: Equatable>(
    id value: T, priority: TaskPriority = .userInitiated,
    @_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void
  ) -> some View { Opaque() }
  public func disabled(_ disabled: Bool) -> some View { Opaque() }
  public func onDisappear(perform action: (() -> Void)? = nil) -> some View { Opaque() }
  public func onAppear(perform action: (() -> Void)? = nil) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func buttonStyle<S: PrimitiveButtonStyle>(_ style: S) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func onSubmit(_ action: @escaping () -> Void) -> some View { Opaque() }
  @available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
  public func autocorrectionDisabled(_ disable: Bool = true) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func task(
    priority: TaskPriority = .userInitiated,
    @_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void
  ) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { Opaque() }
  @available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)
  public func onChange<V: Equatable>(
    of value: V, initial: Bool = false, _ action: @escaping (_ old: V, _ new: V) -> Void
  ) -> some View { Opaque() }
  @available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
  public func navigationTitle(_ title: Text) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func alert<A: View>(
    _ title: Text, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A
  ) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func confirmationDialog<A: View>(
    _ title: Text, isPresented: Binding<Bool>, titleVisibility: Visibility = .automatic,
    @ViewBuilder actions: () -> A
  ) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func confirmationDialog<A: View, T>(
    _ title: Text, isPresented: Binding<Bool>, titleVisibility: Visibility = .automatic, presenting data: T?,
    @ViewBuilder actions: (T) -> A
  ) -> some View { Opaque() }
  public func previewDisplayName(_ value: String?) -> some View { Opaque() }
  @available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)
  public func environment<T: AnyObject & Observable>(_ object: T?) -> some View { Opaque() }

  @available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
  public func accessibilityLabel(_ label: Text) -> some View { Opaque() }
  public func accessibilityValue(_ value: Text) -> some View { Opaque() }
  public func accessibilityHidden(_ hidden: Bool) -> some View { Opaque() }
  public func accessibilityElement(children: AccessibilityChildBehavior) -> some View { Opaque() }
  public func accessibilitySortPriority(_ priority: Double) -> some View { Opaque() }
}

@available(iOS 16, macOS 13, *)
@available(tvOS, unavailable)
@available(watchOS, unavailable)
public enum HoverPhase: Sendable { case active(CGPoint), ended }

public protocol Gesture {}
public struct TapGesture: Gesture {
  public init(count: Int = 1) {}
  @MainActor @preconcurrency public func onEnded(_ action: @escaping () -> Void) -> TapGesture { self }
}

extension View {
  /// With the space in which to measure, which has a default.
  @available(iOS 16, macOS 13, *)
  @available(tvOS, unavailable)
  @available(watchOS, unavailable)
  public func onContinuousHover(perform action: @escaping (HoverPhase) -> Void) -> some View { Opaque() }
  public func simultaneousGesture<T: Gesture>(_ gesture: T) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func overlay<V: View>(alignment: Alignment = .center, @ViewBuilder content: () -> V) -> some View { Opaque() }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func background<V: View>(alignment: Alignment = .center, @ViewBuilder content: () -> V) -> some View {
    Opaque()
  }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func background<S: ShapeStyle>(_ style: S, ignoresSafeAreaEdges edges: Edge.Set = .all) -> some View {
    Opaque()
  }
}

extension View {
  public func tabItem<V: View>(@ViewBuilder _ label: () -> V) -> some View { Opaque() }
}
