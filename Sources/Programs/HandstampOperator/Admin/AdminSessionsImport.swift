#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

extension AdminSessions {
  struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "import", abstract: "import refresh tokens of a former system, to take over its sessions",
      discussion: """
        each line of the file is a JSON object: account, the account's ID here, and
        token, or instead of it sha256 in hexadecimal; auth_time and expires, in
        seconds since 1970, are optional

        only the SHA-256 of a token is stored; a repeated import changes nothing;
        the server takes the sessions over if it has a setting of a former system
        """)

    @Argument(help: "file with a JSON object in each line; - for stdin") var file: String
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    /// How many refusals are kept for the report.
    private static let mostRefusals = 1000

    func run() async throws {
      let source = try ImportFile(file)
      let (result, count) = try await options.administering { administration in
        var (sum, line, refused) = (FormerImport(), 1, 0)
        var (pieces, held, lines) = (source.makeAsyncIterator(), [UInt8]?.some([]), [[UInt8]]())
        while held != nil || !lines.isEmpty {
          if lines.isEmpty, let rest = held {
            let piece = await pieces.next()
            lines = (rest + (piece ?? [])).split(separator: 10, omittingEmptySubsequences: false).map { Array($0) }
            // The last one goes on in the next piece. One that is too long is refused, however long it is.
            held = piece == nil ? nil : lines.popLast().map { Array($0.prefix(FormerEntry.longest + 1)) }
          }
          let batch = Array(lines.prefix(Administration.formerBatch))
          guard !batch.isEmpty else { continue }
          lines.removeFirst(batch.count)
          let part = try await administration.importFormer(batch, from: line)
          line += batch.count
          sum.imported += part.imported
          sum.known += part.known
          refused += part.refused.count
          sum.refused += part.refused.prefix(Import.mostRefusals - sum.refused.count)
        }
        return (sum, refused)
      }
      if let failure = source.failure { throw failure }
      if output.json {
        let refused = result.refused.objects([Column("line", \.line), Column("reason", \.reason)])
        Terminal.out(json: ["imported": result.imported, "known": result.known, "refused": refused])
      } else {
        for refusal in result.refused { Terminal.say("line \(refusal.line): \(refusal.reason)") }
        Terminal.say("imported \(result.imported), known \(result.known), refused \(count)")
      }
      guard count == 0 else {
        throw CommandError(
          .failure, "\(count) line(s) were not imported", hint: "correct them and repeat the command with the same file"
        )
      }
    }
  }
}
#endif
