#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampRegistry
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
      // One that has registered itself is in no file.
      let file = try RegisteredClient.isID(id) ? nil : self.file.file()
      // The file is read first and the store changed first, so that nothing is changed if either cannot be used.
      try file?.check()
      let (wasRegistered, ended) = try await options.administering { try await $0.removeClient(id) }
      let isRemoved = try file?.remove(id) ?? wasRegistered
      guard isRemoved || ended > 0 else {
        let place = file?.path ?? "the server"
        throw CommandError(
          .failure, "\(place) has no client \(id), and none has sessions by that ID",
          hint: "list them: handstamp-server admin clients list")
      }
      if output.json { return Terminal.out(json: ["id": id, "removed": isRemoved, "ended": ended]) }
      Terminal.out("\(isRemoved ? "removed" : "not in the file"), tokens and sessions ended: \(ended)")
      if isRemoved, file != nil { Terminal.say("a running server forgets the client after: kill -HUP PID") }
    }
  }
}
#endif
