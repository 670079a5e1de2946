// Stands in for Apple's WidgetKit; see Security.swift. There is none on tvOS.
public import AppIntents
public import Foundation
public import SwiftUI

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
public protocol TimelineEntry {
  var date: Date { get }
}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
public struct TimelineReloadPolicy: Sendable, Equatable {
  public static let atEnd = TimelineReloadPolicy()
  public static let never = TimelineReloadPolicy()
  public static func after(_ date: Date) -> TimelineReloadPolicy { TimelineReloadPolicy() }
}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
public struct Timeline<EntryType: TimelineEntry> {
  public init(entries: [EntryType], policy: TimelineReloadPolicy) {}
}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
extension Timeline: Sendable where EntryType: Sendable {}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
public struct TimelineProviderContext {
  public var isPreview: Bool { false }
}

@available(iOS 17, macOS 14, watchOS 10, visionOS 26, *)
public protocol AppIntentTimelineProvider {
  associatedtype Entry: TimelineEntry
  associatedtype Intent: WidgetConfigurationIntent
  typealias Context = TimelineProviderContext
  func placeholder(in context: Context) -> Entry
  func snapshot(for configuration: Intent, in context: Context) async -> Entry
  func timeline(for configuration: Intent, in context: Context) async -> Timeline<Entry>
}

@available(iOS 17, macOS 14, watchOS 10, visionOS 26, *)
public struct AppIntentConfiguration<Intent: WidgetConfigurationIntent, Content: View>: WidgetConfiguration {
  public init<Provider: AppIntentTimelineProvider>(
    kind: String, intent: Intent.Type = Intent.self, provider: Provider,
    @ViewBuilder content: @escaping (Provider.Entry) -> Content
  ) where Provider.Intent == Intent {}
  public var body: Never { fatalError() }
}

@available(iOS 14, macOS 11, watchOS 9, visionOS 26, *)
public final class WidgetCenter: Sendable {
  public static let shared = WidgetCenter()
  public func reloadAllTimelines() {}
  public func reloadTimelines(ofKind kind: String) {}
}

@available(iOS 17, macOS 14, watchOS 10, visionOS 26, *)
extension ContainerBackgroundPlacement {
  public static let widget = ContainerBackgroundPlacement()
}
