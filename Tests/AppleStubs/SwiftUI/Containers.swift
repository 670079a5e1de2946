public import Foundation

public struct HorizontalAlignment: Sendable {
  public static let leading = HorizontalAlignment()
  public static let center = HorizontalAlignment()
}

public struct VerticalAlignment: Sendable {
  public static let center = VerticalAlignment()
}

public struct Alignment: Sendable {
  public static let center = Alignment()
}

public struct VStack<Content: View>: View {
  public init(
    alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
  ) {}
  public var body: Never { fatalError() }
}

public struct HStack<Content: View>: View {
  public init(
    alignment: VerticalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
  ) {}
  public var body: Never { fatalError() }
}

public struct Form<Content: View>: View {
  public init(@ViewBuilder content: () -> Content) {}
  public var body: Never { fatalError() }
}

public struct List<Selection, Content: View>: View {
  public init(@ViewBuilder content: () -> Content) where Selection == Never {}
  public var body: Never { fatalError() }
}

public struct Section<Parent: View, Content: View, Footer: View>: View {
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public init(@ViewBuilder content: () -> Content) where Parent == EmptyView, Footer == EmptyView {}
  public var body: Never { fatalError() }
}

@available(iOS 14, macOS 11, *)
@available(tvOS, unavailable)
@available(watchOS, unavailable)
public struct DisclosureGroup<Label: View, Content: View>: View {
  public init(@ViewBuilder content: @escaping () -> Content, @ViewBuilder label: () -> Label) {}
  public var body: Never { fatalError() }
}

public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content: View>: View {
  public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content)
  where Data.Element: Identifiable, ID == Data.Element.ID {}
  public init(_ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content) {}
  public var body: Never { fatalError() }
}

@MainActor @preconcurrency public protocol PreviewProvider {
  associatedtype Previews: View
  @ViewBuilder @MainActor @preconcurrency static var previews: Previews { get }
}

public struct TabView<SelectionValue: Hashable, Content: View>: View {
  public init(@ViewBuilder content: () -> Content) where SelectionValue == Int {}
  public var body: Never { fatalError() }
}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public struct NavigationStack<Data, Root: View>: View {
  public init(@ViewBuilder root: () -> Root) where Data == Never {}
  public var body: Never { fatalError() }
}

@available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
public protocol TimelineSchedule {}

@available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
public struct PeriodicTimelineSchedule: TimelineSchedule, Sendable {
  public init(from startDate: Date, by interval: TimeInterval) {}
}

@available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
extension TimelineSchedule where Self == PeriodicTimelineSchedule {
  public static func periodic(from startDate: Date, by interval: TimeInterval) -> PeriodicTimelineSchedule {
    PeriodicTimelineSchedule(from: startDate, by: interval)
  }
}

@available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
public struct TimelineView<Schedule: TimelineSchedule, Content: View>: View {
  public struct Context {
    public let date: Date
  }
  public init(_ schedule: Schedule, @ViewBuilder content: @escaping (TimelineViewDefaultContext) -> Content) {}
  public var body: Never { fatalError() }
}

@available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
public struct EveryMinuteTimelineSchedule: TimelineSchedule, Sendable {}

@available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
public typealias TimelineViewDefaultContext = TimelineView<EveryMinuteTimelineSchedule, Never>.Context
