#if canImport(SwiftUI)
import Foundation
import Handstamp
import SwiftUI

extension CoverModel.Phase {
  /// On macOS, windows stay in view while another app is in front: nothing is gained by a cover.
  init(_ phase: ScenePhase) {
    #if os(macOS) || targetEnvironment(macCatalyst)
    self = phase == .background ? .background : .active
    #else
    switch phase {
    case .active: self = .active
    case .background: self = .background
    case .inactive: self = .inactive
    @unknown default: self = .inactive
    }
    #endif
  }
}

/// Hides the content, with a button where the user can unlock it.
struct CoverView: View {
  let cover: CoverModel.Cover
  let failure: Wording?
  /// Whether nothing but a sign-out leads on.
  let isStuck: Bool
  let unlock: @MainActor () async -> Void
  let signOut: @MainActor () async -> Void

  /// Whether nothing below may be used. In the app switcher there is no need, and a text keeps its focus.
  var isLocked: Bool { cover != .away }

  var body: some View {
    Group {
      switch cover {
      case .away: Image(systemName: "lock").font(.largeTitle).accessibilityHidden(true)
      case .confirming: ProgressView()
      case .locked:
        ObstacleView(
          failure ?? Wording(.contentLocked), systemImage: "lock", button: .unlock, action: unlock,
          signOut: isStuck ? signOut : nil)
      }
    }
    .frame(maxWidth: .infinity, maxHeight: .infinity)
    .background(.background)
  }
}

/// The seconds until a session ends by a limit, with a button where use puts that off.
struct EndNotice: View {
  private let end: UpcomingEnd
  private let stay: @MainActor () -> Void

  init(_ end: UpcomingEnd, stay: @escaping @MainActor () -> Void) {
    self.end = end
    self.stay = stay
  }

  var body: some View {
    HStack {
      TimelineView(.periodic(from: Date.now, by: 1)) { context in
        Label(Wording(end, at: UnixTime(context.date)).text, systemImage: "clock")
      }
      if end.reason == .idle { Button(Word.staySignedIn.text) { stay() } }
    }
    .font(.footnote)
    .padding(8)
    .frame(maxWidth: .infinity)
    .accessibilitySortPriority(1)
  }
}
#endif
