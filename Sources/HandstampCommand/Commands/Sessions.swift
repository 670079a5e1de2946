#if Command
import ArgumentParser
import Foundation
import HandstampCore

struct Sessions: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "sessions", abstract: "list the devices where the account is signed in")

  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions

  struct Answer: Document {
    struct Item: Encodable {
      var id: String
      var current: Bool
      var deviceName: String
      var platform: String
      var createdAt: String
      var createdAtEpoch: Int64
      var lastSeenAt: String
      var lastSeenAtEpoch: Int64
    }
    var sessions: [Item]
  }

  func perform(in installation: Installation) async throws {
    let caller = try await AuthorizedCaller.current(account, in: installation)
    let sessions: [SessionList.Item]
    do throws(CommandError) {
      sessions = try await caller.call("GET", "/v1/sessions", as: SessionList.self, for: "listing sessions").sessions
    } catch { throw Sessions.hinting(error, at: caller.server) }
    if output.json {
      Answer(sessions: sessions.map(Answer.Item.init)).writeLine()
    } else {
      var rows = [["", "SESSION", "DEVICE", "PLATFORM", "SIGNED IN", "LAST SEEN"]]
      for session in sessions {
        rows.append([
          session.current ? "*" : "", session.id, session.device.name, session.device.platform,
          UnixTime(milliseconds: session.created_at_ms).description,
          UnixTime(milliseconds: session.last_seen_at_ms).description,
        ])
      }
      for line in Table(rows: rows).lines { Terminal.out(line) }
    }
  }
}

extension Sessions {
  /// Returns the refusal of a client that is not the server's own with what works in its place.
  static func hinting(_ error: CommandError, at server: ServerAddress) -> CommandError {
    guard error.code == "insufficient_scope" else { return error }
    let url = shellWord(server.text)
    return error.hinting(
      "this client may not list sessions; open \(server.text)/account/devices, or sign in with: "
        + "handstamp login EMAIL --server \(url) --force")
  }
}

/// `GET /v1/sessions`.
struct SessionList: Decodable, Sendable {
  struct Device: Decodable, Sendable {
    var name: String
    var platform: String
  }
  struct Item: Decodable, Sendable {
    var id: String
    var current: Bool
    var device: Device
    var created_at_ms: Int64
    var last_seen_at_ms: Int64
  }
  var sessions: [Item]
}

extension Sessions.Answer.Item {
  init(_ item: SessionList.Item) {
    let created = UnixTime(milliseconds: item.created_at_ms)
    let lastSeen = UnixTime(milliseconds: item.last_seen_at_ms)
    self.init(
      id: item.id, current: item.current, deviceName: item.device.name, platform: item.device.platform,
      createdAt: created.description, createdAtEpoch: created.seconds, lastSeenAt: lastSeen.description,
      lastSeenAtEpoch: lastSeen.seconds)
  }
}
#endif
