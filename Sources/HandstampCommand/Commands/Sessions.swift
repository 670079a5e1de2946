#if Command
import ArgumentParser
import Foundation
import Handstamp
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
    let sessions: [DeviceSession]
    do throws(CommandError) {
      sessions = try await caller.call("GET", "/v1/sessions", as: DeviceList.self, for: "listing sessions").devices
    } catch { throw Sessions.hinting(error, at: caller.server) }
    if output.json {
      Answer(sessions: sessions.map(Answer.Item.init)).writeLine()
    } else {
      var rows = [["", "SESSION", "DEVICE", "PLATFORM", "SIGNED IN", "LAST SEEN"]]
      for session in sessions {
        rows.append([
          session.isCurrent ? "*" : "", session.id.rawValue, session.name, session.platform,
          session.startedAt.description, session.lastSeenAt.description,
        ])
      }
      Table(rows: rows).write()
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

extension Sessions.Answer.Item {
  init(_ device: DeviceSession) {
    self.init(
      id: device.id.rawValue, current: device.isCurrent, deviceName: device.name, platform: device.platform,
      createdAt: device.startedAt.description, createdAtEpoch: device.startedAt.seconds,
      lastSeenAt: device.lastSeenAt.description, lastSeenAtEpoch: device.lastSeenAt.seconds)
  }
}
#endif
