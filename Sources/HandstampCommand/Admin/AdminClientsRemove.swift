#if Command
import ArgumentParser
import HandstampServer

extension AdminClients {
  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "remove a client from the file, and end its sessions",
      discussion: """
        until a running server is reloaded (kill -HUP), it still knows the client,
        whose users may sign in to it; run the command again after that; a client
        that is no longer in the file can be named, too
        """)

    @Argument(help: "client ID") var id: String
    @OptionGroup var file: FileOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      // First, so that nothing is changed if the store cannot be.
      let (isForgotten, ended) = try await options.administering {
        (try await $0.forgetClient(id), try await $0.endSessions(ofClient: id))
      }
      // One that has registered itself is in no file.
      let isRemoved = try isForgotten || file.file().remove(id)
      guard isRemoved || ended > 0 else {
        throw CommandError(
          .failure, "\(try file.file().path) has no client \(id), and none has sessions by that ID",
          hint: "list them: handstamp admin clients list")
      }
      if output.json { return Terminal.out(json: ["id": id, "removed": isRemoved, "ended": ended]) }
      Terminal.out("\(isRemoved ? "removed" : "not in the file"), tokens and sessions ended: \(ended)")
      if isRemoved, !isForgotten { Terminal.say("a running server forgets the client after: kill -HUP PID") }
    }
  }
}
#endif
