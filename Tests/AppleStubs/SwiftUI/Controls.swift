public import CoreGraphics
public import Foundation

public struct Text: View {
  public init(verbatim content: String) {}
  public init<S: StringProtocol>(_ content: S) {}
  @available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
  public init(_ date: Date, style: DateStyle) {}
  public struct DateStyle: Sendable {
    public static let relative = DateStyle()
  }
  public var body: Never { fatalError() }
}

public struct Image: View {
  @available(macOS 11, *)
  public init(systemName: String) {}
  public init(_ image: CGImage, scale: CGFloat, label: Text) {}
  public enum Interpolation: Sendable { case none, low }
  public func interpolation(_ interpolation: Interpolation) -> Image { self }
  public func resizable() -> Image { self }
  public var body: Never { fatalError() }
}

@available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
public struct Label<Title: View, Icon: View>: View {
  public init<S: StringProtocol>(_ title: S, systemImage name: String) where Title == Text, Icon == Image {}
  public var body: Never { fatalError() }
}

@available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
public struct ProgressView<Label: View>: View {
  public init() where Label == EmptyView {}
  public init(@ViewBuilder label: () -> Label) {}
  public var body: Never { fatalError() }
}

@available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
public struct ButtonRole: Sendable, Equatable {
  public static let destructive = ButtonRole()
  public static let cancel = ButtonRole()
}

public struct Button<Label: View>: View {
  @preconcurrency public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {}
  @preconcurrency public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void)
  where Label == Text {}
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  @preconcurrency public init<S: StringProtocol>(_ title: S, role: ButtonRole?, action: @escaping @MainActor () -> Void)
  where Label == Text {}
  public var body: Never { fatalError() }
}

public struct TextField<Label: View>: View {
  public init<S: StringProtocol>(_ title: S, text: Binding<String>) where Label == Text {}
  public var body: Never { fatalError() }
}

public struct SecureField<Label: View>: View {
  public init<S: StringProtocol>(_ title: S, text: Binding<String>) where Label == Text {}
  public var body: Never { fatalError() }
}

public struct Toggle<Label: View>: View {
  public init<S: StringProtocol>(_ title: S, isOn: Binding<Bool>) where Label == Text {}
  public var body: Never { fatalError() }
}

public struct Spacer: View {
  public init(minLength: CGFloat? = nil) {}
  public var body: Never { fatalError() }
}

public struct Picker<Label: View, SelectionValue: Hashable, Content: View>: View {
  public init<S: StringProtocol>(_ title: S, selection: Binding<SelectionValue>, @ViewBuilder content: () -> Content)
  where Label == Text {}
  public var body: Never { fatalError() }
}

@available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
public struct Link<Label: View>: View {
  public init<S: StringProtocol>(_ title: S, destination: URL) where Label == Text {}
  public var body: Never { fatalError() }
}

extension View {
  public func tag<V: Hashable>(_ tag: V) -> some View { Opaque() }
}

@available(iOS 16, macOS 13, watchOS 9, *)
@available(tvOS, unavailable)
public struct DefaultShareLinkLabel: View { public var body: Never { fatalError() } }

@available(iOS 16, macOS 13, watchOS 9, *)
@available(tvOS, unavailable)
public struct ShareLink<Data: RandomAccessCollection, PreviewImage, PreviewIcon, Label: View>: View {
  public init(item: String, subject: Text? = nil, message: Text? = nil)
  where
    Data == CollectionOfOne<String>, PreviewImage == Never, PreviewIcon == Never, Label == DefaultShareLinkLabel
  {}
  public var body: Never { fatalError() }
}
