#if Programs
import Foundation

/// A JOSE implementation that shares no code with ours: Authlib, in Debian's own Python, for which `scripts/deps` installs it.
enum Authlib {
  struct Silent: Error {}

  /// Returns the header and the payload of `token` if Authlib verifies it with one of `keys`, a JWK set; empty otherwise.
  static func verify(_ token: String, keys: String) async throws -> WireClient.JSON {
    try await ask(#"{"do":"verify","token":"\#(token)","keys":\#(keys)}"#)
  }

  /// Asks one question of a script, a JSON object.
  static func ask(_ question: String, of script: String = "jose.py") async throws -> WireClient.JSON {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    process.arguments = ["-I", folder.appendingPathComponent("Independent/\(script)").path]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data((question + "\n").utf8))
    try input.fileHandleForWriting.close()
    let handle = output.fileHandleForReading
    let answer = await withCheckedContinuation { continuation in
      // A dedicated thread, which may block.
      Thread.detachNewThread { continuation.resume(returning: handle.readDataToEndOfFile()) }
    }
    guard let object = try? JSONSerialization.jsonObject(with: answer) as? [String: Any] else { throw Silent() }
    return WireClient.JSON(object)
  }
}
#endif
