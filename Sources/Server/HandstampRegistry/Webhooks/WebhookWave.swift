package import HandstampCore

/// The events that a webhook sends at once: those of up to ``Webhook/mostLanes`` accounts at the same time, and those of one account
/// one after another.
package struct WebhookWave: Sendable, Hashable {
  /// The events of one account, in order.
  package struct Course: Sendable, Hashable {
    package var account: AccountID
    /// Those up to here are not part of it.
    package var start: EventID
    package var events: [StoredEvent] = []
    /// Where the account is when all are delivered.
    package var end: EventID
    /// Whether the account then has events left before the cursor.
    package var hasMore = false
  }

  /// How far a course got.
  package struct Outcome: Sendable, Hashable {
    package var course: Course
    /// How many of its events are delivered.
    package var delivered = 0
    /// Why the next one is not; `nil` if all are delivered, or if it was not tried.
    package var failure: WebhookFailure?

    package init(_ course: Course) { self.course = course }
  }

  package var courses: [Course] = []
  /// The cursor when all courses have ended, whatever became of them.
  package var cursor: EventID
  /// The newest event when the wave was put together.
  package var newest: EventID
}

/// A failed attempt.
package struct WebhookFailure: Sendable, Hashable {
  package var words: String
  /// How long the receiver wants to be left alone; `nil` if it did not say.
  package var pause: Duration?
  /// Whether the receiver has answered that it is gone.
  package var isGone = false

  package init(_ words: String, pause: Duration? = nil, isGone: Bool = false) {
    (self.words, self.pause, self.isGone) = (words, pause, isGone)
  }
}

extension Webhook {
  /// How many events are sent in one wave, and of one lane.
  private static let mostEvents = 64
  /// How many events are looked at for one wave.
  private static let page = 128

  /// Returns the next events to send.
  package func wave(in registry: Registry, at now: UnixTime) async throws(RegistryError) -> WebhookWave {
    var wave = WebhookWave(cursor: cursor, newest: cursor)
    guard !isGone, pausedUntil.map({ $0 <= now }) ?? true else { return wave }
    for lane in lanes where lane.dueAt <= now {
      let page = try await registry.events(after: lane.position, of: lane.account, limit: Webhook.mostEvents)
      let events = page.filter { $0.id <= cursor }
      wave.courses.append(
        WebhookWave.Course(
          account: lane.account, start: lane.position, events: events.filter { settings.events.covers($0.event) },
          end: events.last?.id ?? lane.position, hasMore: events.count == Webhook.mostEvents))
    }
    guard lanes.count < Webhook.mostLanes else { return wave }
    wave.newest = try await registry.lastEventID()
    // The store is older than the cursor: events that come now would have IDs that the cursor has passed.
    if wave.newest < cursor { wave.cursor = wave.newest }
    wave.take(
      try await registry.events(after: wave.cursor, limit: Webhook.page), of: self, upTo: Webhook.mostEvents)
    return wave
  }
}

extension WebhookWave {
  /// Adds the events after the cursor, as long as each account without a lane could get one.
  fileprivate mutating func take(_ page: [StoredEvent], of webhook: Webhook, upTo most: Int) {
    let held = Set(webhook.lanes.map(\.account))
    let lanes = courses
    var (fresh, places, count) = ([Course](), [AccountID: Int](), 0)
    for event in page {
      guard webhook.settings.events.covers(event.event) else {
        cursor = event.id
        continue
      }
      let account = event.event.account
      if held.contains(account) {
        // Its lane comes to it.
        if let index = lanes.firstIndex(where: { $0.account == account }) { courses[index].hasMore = true }
      } else {
        if places[account] == nil {
          guard held.count + fresh.count < Webhook.mostLanes else { break }
          places[account] = fresh.count
          fresh.append(Course(account: account, start: cursor, end: cursor))
        }
        guard count < most else { break }
        count += 1
        if let place = places[account] {
          fresh[place].events.append(event)
          fresh[place].end = event.id
        }
      }
      cursor = event.id
    }
    courses += fresh.filter { !$0.events.isEmpty }
  }
}
