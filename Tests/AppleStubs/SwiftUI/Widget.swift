@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
@available(tvOS, unavailable)
@MainActor @preconcurrency public protocol Widget {
  associatedtype Body: WidgetConfiguration
  @MainActor @preconcurrency var body: Body { get }
  @MainActor @preconcurrency init()
}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
@available(tvOS, unavailable)
@MainActor @preconcurrency public protocol WidgetConfiguration {
  associatedtype Body: WidgetConfiguration
  @MainActor @preconcurrency var body: Body { get }
}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
@available(tvOS, unavailable)
extension Never: WidgetConfiguration {}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
@available(tvOS, unavailable)
extension WidgetConfiguration {
  public func configurationDisplayName<S: StringProtocol>(_ name: S) -> some WidgetConfiguration { self }
}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
@available(tvOS, unavailable)
@MainActor @preconcurrency public protocol WidgetBundle {
  associatedtype Body: Widget
  @WidgetBundleBuilder @MainActor @preconcurrency var body: Body { get }
  @MainActor @preconcurrency init()
}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
@available(tvOS, unavailable)
extension WidgetBundle {
  @MainActor public static func main() {}
}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
@available(tvOS, unavailable)
@resultBuilder public struct WidgetBundleBuilder {
  public static func buildBlock<Content: Widget>(_ content: Content) -> Content { content }
}

@available(iOS 17, macOS 14, watchOS 10, *)
@available(tvOS, unavailable)
public struct ContainerBackgroundPlacement: Sendable {
  public init() {}
}

@available(iOS 17, macOS 14, watchOS 10, *)
@available(tvOS, unavailable)
extension View {
  public func containerBackground<S: ShapeStyle>(_ style: S, for container: ContainerBackgroundPlacement) -> some View {
    Opaque()
  }
}
