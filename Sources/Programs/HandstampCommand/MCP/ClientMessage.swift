#if Command
/// A message of the program that talks to the bridge, as it came, or a batch.
struct ClientMessage: Sendable, Hashable {
  let bytes: [UInt8]
  let parts: [MessageFacts]

  /// Returns `nil` for anything but JSON-RPC.
  init?(_ bytes: [UInt8]) {
    guard let parts = MessageFacts.all(in: bytes) else { return nil }
    (self.bytes, self.parts) = (bytes, parts)
  }

  /// The requests that wait for a response.
  var awaited: [RequestID] {
    parts.compactMap { if case .request(let id) = $0.kind { id } else { nil } }
  }

  /// The only part; `nil` for a batch.
  var single: MessageFacts? { parts.count == 1 ? parts[0] : nil }

  /// Whether it begins a session.
  var opens: Bool { single?.method == "initialize" && !awaited.isEmpty }

  /// Whether it says that the session has begun.
  var isOpened: Bool { single?.method == "notifications/initialized" }

  /// Whether a repeat does no harm if the response to the first attempt is lost: it only reads.
  var isRepeatable: Bool {
    parts.allSatisfy { part in
      guard let method = part.method else { return false }
      return ClientMessage.reading.contains(method)
    }
  }

  private static let reading: Set = [
    "initialize", "server/discover", "ping", "tools/list", "prompts/list", "prompts/get", "resources/list",
    "resources/templates/list", "resources/read", "completion/complete",
  ]

  /// Whether a version of the protocol has neither sessions nor notifications of clients: since 2026-07-28, each
  /// request stands for itself, and is cancelled by closing its response. Versions are dates.
  static func standsAlone(_ version: String?) -> Bool { version.map { $0 >= "2026-07-28" } ?? false }
}
#endif
