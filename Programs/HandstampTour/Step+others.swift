#if Operator && DEBUG
import Foundation
import Handstamp

@testable import HandstampCommand
@testable import HandstampCommandLine

extension Step {
  /// Uses a server without rotation keys, where sending a refresh token twice may end the session.
  static func serverOfOthers(_ stage: TourFixture) async throws -> String {
    try await OtherServer.run { server, issuer in
      let home = Home(path: stage.folder + "/third")
      try await stage.run(["login", "--issuer", issuer, "--device", "--client-id", "tour"], on: home)
      try await oneRefresh(stage, home, server)
      try await suspension(stage, home, server)
      try await unmount(stage, home)
      try await stage.run(["logout"], on: home)
      return "\(server.refreshes) expiries, \(server.refreshes) refreshes"
    }
  }

  private static func oneRefresh(_ stage: TourFixture, _ home: Home, _ server: OtherServer) async throws {
    try await stage.expireNow(home)
    let tokens = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<5 { group.addTask { try await stage.run(["token"], on: home).out } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    try expect(tokens.count == 1 && server.refreshes == 1, "\(server.refreshes) refreshes, \(tokens.count) tokens")
    stage.saw("its refresh token does not rotate: at expiry, 5 processes refresh once and print the same token")
  }

  private static func suspension(_ stage: TourFixture, _ home: Home, _ server: OtherServer) async throws {
    try await stage.expireNow(home)
    let before = server.refreshes
    let (isHere, goOn) = (OneShot<Void>(), OneShot<Void>())
    server.nextAnswer(.waits(isHere: isHere, goOn: goOn))
    let child = try Child(["token"], variables: ["HANDSTAMP_HOME": home.path], input: "")
    try await within(.seconds(240), "the request") { try await isHere.value() }
    child.send(SIGSTOP)
    goOn.set(())
    let entry = try await stage.entry(of: home)
    try expect(entry.session?.attempt != nil, "the vault does not record that the token was sent")
    child.send(SIGCONT)
    let outcome = try await within(.seconds(240), "handstamp token") { try await child.outcome() }
    try expect(outcome.status == 0 && server.refreshes == before + 1, "exited with \(outcome.status): \(outcome.words)")
    stage.saw("suspended while the response arrived: it is read afterwards, and the token is not sent again")
  }

  private static func unmount(_ stage: TourFixture, _ home: Home) async throws {
    let client = try await stage.client(home)
    let token = try await client.controller.token()
    let away = home.vaultFolder + "-away"
    try FileManager.default.moveItem(atPath: home.vaultFolder, toPath: away)
    do throws(SessionError) {
      try await client.controller.refreshIfNeeded(minimumValidity: .seconds(100_000))
    } catch {
      guard case .storage = error else { throw TourFailure("without its folder, the vault failed with \(error)") }
    }
    try expect(try await client.controller.token() == token, "the session is gone with the folder")
    try expect(!FileManager.default.fileExists(atPath: home.vaultFolder), "the folder was created again")
    try FileManager.default.moveItem(atPath: away, toPath: home.vaultFolder)
    try expect(try await stage.session(of: home).access?.token == token, "the session did not come back")
    stage.saw("the vault's folder was unavailable for a moment: still signed in, and no new folder was created")
  }
}

extension TourFixture {
  /// Expires the access token in the vault of `home`.
  func expireNow(_ home: Home) async throws {
    let session = try await session(of: home)
    guard let token = session.refresh, let access = session.access?.token else { throw TourFailure("not signed in") }
    let over = TokenResponse(tokens: TokenSet(access: access, expiresIn: .zero))
    let edit = VaultEdit.advance(session.id, RefreshedTokens(over, sent: token, since: SystemClock().now()))
    let outcome = try await home.vault(of: account(of: home).id).edit(edit)
    guard case .done = outcome else { throw TourFailure("the vault edit failed: \(outcome)") }
  }
}
#endif
