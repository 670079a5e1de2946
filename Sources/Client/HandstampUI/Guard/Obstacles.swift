#if canImport(SwiftUI)
import Foundation
import SwiftUI

/// An operation in progress.
struct WaitingView: View {
  private let word: Word
  init(_ word: Word) { self.word = word }

  var body: some View {
    ProgressView { Text(verbatim: word.text) }
      .frame(maxWidth: .infinity, maxHeight: .infinity)
  }
}

/// An obstacle, with a button to resolve it if there is a way.
struct ObstacleView: View {
  private let wording: Wording
  private let systemImage: String
  private let button: Word?
  private let action: @MainActor () async -> Void
  private let signOut: (@MainActor () async -> Void)?
  @State private var isBusy = false

  init(
    _ wording: Wording, systemImage: String, button: Word?, action: @escaping @MainActor () async -> Void,
    signOut: (@MainActor () async -> Void)? = nil
  ) {
    self.wording = wording
    self.systemImage = systemImage
    self.button = button
    self.action = action
    self.signOut = signOut
  }

  var body: some View {
    VStack(spacing: 16) {
      Image(systemName: systemImage)
        .font(.largeTitle)
        .accessibilityHidden(true)
      Text(verbatim: wording.text)
        .multilineTextAlignment(.center)
        .fixedSize(horizontal: false, vertical: true)
      if let button {
        Button(button.text) { perform(action) }
          .buttonStyle(.borderedProminent)
          .disabled(isBusy)
      }
      if let signOut {
        Button(Word.signOut.text, role: .destructive) { perform(signOut) }
          .disabled(isBusy)
      }
    }
    .padding()
    .frame(maxWidth: .infinity, maxHeight: .infinity)
  }

  private func perform(_ action: @escaping @MainActor () async -> Void) {
    isBusy = true
    Task {
      await action()
      isBusy = false
    }
  }
}

/// A view with a notice above it, which VoiceOver reads first, and a button for the step that can help.
struct Noticed<Content: View>: View {
  private let notice: Wording?
  private let button: Word
  private let action: (@MainActor () async -> Void)?
  private let content: Content

  init(
    _ notice: Wording?, button: Word = .tryAgain, action: (@MainActor () async -> Void)? = nil,
    @ViewBuilder content: () -> Content
  ) {
    self.notice = notice
    self.button = button
    self.action = action
    self.content = content()
  }

  var body: some View {
    VStack(spacing: 0) {
      if let notice {
        HStack {
          Label(notice.text, systemImage: "info.circle")
          if let action { Button(button.text) { Task { await action() } } }
        }
        .font(.footnote)
        .padding(8)
        .frame(maxWidth: .infinity)
        .accessibilitySortPriority(1)
      }
      content
    }
  }
}

/// The reason for a failure, in a form or a list.
struct FailureRow: View {
  private let wording: Wording
  init(_ wording: Wording) { self.wording = wording }

  var body: some View {
    Label(wording.text, systemImage: "exclamationmark.triangle")
      .foregroundStyle(.red)
      .accessibilitySortPriority(1)
  }
}
#endif
