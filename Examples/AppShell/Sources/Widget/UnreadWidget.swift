import AppIntents
import Foundation
import SwiftUI
import WidgetKit

@main struct ForumWidgets: WidgetBundle {
  var body: some Widget { UnreadWidget() }
}

struct UnreadWidget: Widget {
  var body: some WidgetConfiguration {
    AppIntentConfiguration(kind: "unread", intent: UnreadOptions.self, provider: UnreadProvider()) { entry in
      UnreadView(entry: entry)
    }
    .configurationDisplayName("Unread Posts")
  }
}

nonisolated struct UnreadOptions: WidgetConfigurationIntent {
  static let title: LocalizedStringResource = "Unread Posts"
}

nonisolated struct UnreadEntry: TimelineEntry {
  enum Content { case count(Int), signedOut, unknown }
  let date: Date
  let content: Content
}

nonisolated struct UnreadProvider: AppIntentTimelineProvider {
  func placeholder(in context: Context) -> UnreadEntry { UnreadEntry(date: .now, content: .count(3)) }

  func snapshot(for options: UnreadOptions, in context: Context) async -> UnreadEntry {
    context.isPreview ? placeholder(in: context) : await entry()
  }

  func timeline(for options: UnreadOptions, in context: Context) async -> Timeline<UnreadEntry> {
    // The system starts the widget a few dozen times a day; the app asks for more when its user signs in or out.
    Timeline(entries: [await entry()], policy: .after(.now + 30 * 60))
  }

  private func entry() async -> UnreadEntry {
    let content: UnreadEntry.Content
    do {
      content = try await ExtensionSession.shared.unread().map { .count($0.count) } ?? .signedOut
    } catch {
      content = .unknown
    }
    return UnreadEntry(date: .now, content: content)
  }
}

struct UnreadView: View {
  let entry: UnreadEntry

  var body: some View {
    Text(verbatim: text).containerBackground(Color.white, for: .widget)
  }

  private var text: String {
    switch entry.content {
    case .count(let count): "\(count) unread"
    case .signedOut: "Open the app to sign in"
    case .unknown: "–"
    }
  }
}
