import AppIntents

/// For Siri and Shortcuts. The system starts the app in the background for it, so it needs no view and no session of one.
nonisolated struct UnreadIntent: AppIntent {
  static let title: LocalizedStringResource = "Count Unread Posts"

  func perform() async throws -> some IntentResult & ReturnsValue<Int> & ProvidesDialog {
    guard let unread = try await ExtensionSession.shared.unread() else { throw SignedOut() }
    return .result(value: unread.count, dialog: "You have \(unread.count) unread posts.")
  }
}
