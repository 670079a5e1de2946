#if AsyncHTTPClient && Data && LoopbackRedirect
import Foundation
import Handstamp
import HandstampAsyncHTTP
import HandstampData
import HandstampLoopback
import HandstampOAuth

/// `CommandLineApp URL FOLDER`: browser sign-in at any OAuth server, and a database for the account's data.
@main struct CommandLineApp {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let issuer = arguments.first, let folder = arguments.last else { return }
    let store = try DataStore(
      StorePlace(folder: URL(fileURLWithPath: folder)), schema: StoreSchema(shelves: []) { _ in })
    say("database: \(store.place.folder.lastPathComponent)")

    let backend = OAuthBackend(
      OAuthClient(issuer: issuer, id: "command-line-app", scopes: ["profile"]), transport: AsyncHTTPTransport.shared)
    let receiver = try await LoopbackReceiver.listen { page in say("open \(page)") }
    do {
      let grant = try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
      say("signed in: \(grant.profile?.id.rawValue ?? "")")
    } catch {
      say("\(error)")
    }
    await receiver.close()
  }

  /// Writes without buffering, even if the output is not a terminal.
  private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
#else
@main struct CommandLineApp { static func main() {} }
#endif
