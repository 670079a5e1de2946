#if AsyncHTTPClient
import Foundation
import Handstamp
import HandstampOAuth
import HandstampTransports

/// `CommandLineApp ISSUER FOLDER`: signs in at any OAuth server with a code that the user enters on another device (RFC 8628),
/// and keeps the session in FOLDER for later runs.
@main struct CommandLineApp {
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let issuer = arguments.first, let folder = arguments.last else {
      say("usage: CommandLineApp ISSUER FOLDER")
      exit(64)
    }
    let client = OAuthClient(issuer: issuer, id: "command-line-app", scopes: ["profile"])
    do { try await signIn(by: OAuthBackend(client, transport: AsyncHTTPTransport.shared), keepingIn: folder) } catch {
      say("\(error)" + (Recovery(error).map { "\nhint: \($0)" } ?? ""))
      exit(1)
    }
  }

  static func signIn(by server: OAuthBackend, keepingIn folder: String) async throws {
    let vault = SealedFileVault(folder: URL(fileURLWithPath: folder).path, account: AccountID(server.client.issuer))
    let session = SessionController(backend: server, vault: vault)
    do {
      _ = try await session.token()  // refreshed first if it has expired
      say("the kept session has a valid token")
    } catch {
      guard error.recovery == .signIn else { throw error }
      try await session.signIn {
        try await server.signInOnAnotherDevice { code in
          say("open \(code.address) on any device and enter the code \(code.userCode)")
        }
      }
    }
    if case .signedIn(let user) = session.state { say("signed in as \(user.profile?.name ?? "an unknown user")") }
  }

  /// On standard error, without buffering: standard output is for data.
  nonisolated static func say(_ words: String) { FileHandle.standardError.write(Data((words + "\n").utf8)) }
}
#else
@main struct CommandLineApp { static func main() {} }
#endif
