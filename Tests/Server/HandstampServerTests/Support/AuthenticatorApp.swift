#if Programs
import Foundation
import HandstampCore
import HandstampSupport

@testable import HandstampRegistry
@testable import HandstampServer

/// An authenticator app: one of others, by `authenticator.py`, or the registry's own arithmetic.
struct AuthenticatorApp {
  let uri: String

  struct Blind: Error {}

  /// Scans the QR code on a page.
  init(scanning page: String) async throws {
    guard let side = page.firstMatch(of: /<svg class="qr" viewBox="0 0 (\d+) \d+"/).flatMap({ Int($0.output.1) }) else {
      throw Blind()
    }
    var rows = Array(repeating: Array(repeating: "0", count: side), count: side)
    for match in page.matches(of: /M(\d+) (\d+)h1v1h-1z/) {
      guard let x = Int(match.output.1), let y = Int(match.output.2), x < side, y < side else { throw Blind() }
      rows[y][x] = "1"
    }
    let list = rows.map { "\"\($0.joined())\"" }.joined(separator: ",")
    let answer = try await Authlib.ask(#"{"do":"scan","rows":[\#(list)]}"#, of: "authenticator.py")
    guard let text: String = answer["text"], text.hasPrefix("otpauth:") else { throw Blind() }
    uri = text
  }

  func answer(at time: UnixTime) async throws -> WireClient.JSON {
    try await Authlib.ask(#"{"do":"show","uri":"\#(uri)","at":\#(time.seconds)}"#, of: "authenticator.py")
  }
}

extension TOTPSecret {
  func code(at time: UnixTime) -> String { code(at: TOTPSecret.step(at: time)) }
}

extension TestServer {
  /// Gives an account an authenticator app.
  func addApp(to session: Session) async throws -> TOTPSecret {
    let registry = server.registry
    let setup = try registry.newTOTP(in: SessionID(session.id), now: clock.now)
    guard let account = try await registry.account(AccountID(session.account)),
      try await registry.addTOTP(
        setup, code: setup.secret.code(at: clock.now), to: account, in: SessionID(session.id), now: clock.now)
    else { throw AuthenticatorApp.Blind() }
    // Its first code was used.
    clock.advance(by: .seconds(30))
    return setup.secret
  }

  func signIn(code: String?, password: String = password, device: String = "laptop", key: String? = nil) async throws
    -> WireClient.Answer
  {
    let more = (code.map { #","code":"\#($0)""# } ?? "") + (key.map { #","rotation_key":"\#($0)""# } ?? "")
    return try await client.post(
      "/v1/sign-in",
      json: #"{"email":"ada@example.org","password":"\#(password)",\#(TestServer.deviceBody(device))\#(more)}"#)
  }
}
#endif
