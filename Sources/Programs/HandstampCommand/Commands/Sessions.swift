#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine

struct Sessions: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "sessions", abstract: "list the devices where the account is signed in")

  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions

  func perform(in installation: Installation) async throws {
    let caller = try await AuthorizedCaller.current(account, in: installation)
    let sessions: [DeviceSession]
    do throws(CommandError) {
      sessions = try await caller.call("GET", "/v1/sessions", as: DeviceList.self, for: "listing sessions").devices
    } catch { throw caller.suggestingOwnClient(error) }
    output.write(
      "sessions", sessions,
      [
        Column("current", as: "", shown: { $0.isCurrent ? "*" : "" }, \.isCurrent),
        Column("id", as: "SESSION", \.id.rawValue),
        Column("deviceName", as: "DEVICE", \.name),
        Column("platform", as: "PLATFORM", \.platform),
        Column("createdAt", as: "SIGNED IN", \.startedAt.description),
        Column("createdAtEpoch", \.startedAt.seconds),
        Column("lastSeenAt", as: "LAST SEEN", \.lastSeenAt.description),
        Column("lastSeenAtEpoch", \.lastSeenAt.seconds),
      ])
  }
}
#endif
