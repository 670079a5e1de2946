#if Programs
import Crypto
import Foundation
import Handstamp
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampTesting
import HandstampUI
import Testing

/// Passkeys, from the form in an app to the real server.
@MainActor @Suite(.timeLimit(.minutes(10))) struct `A passkey from end to end` {
  private func session(_ server: RealServer, on device: String) -> SessionManager<Void> {
    SessionManager(
      backend: server.backend(.asyncHTTPClient, device: device), vault: MemoryVault(), baseURL: server.url)
  }

  private func form(_ session: SessionManager<Void>, _ passkeys: any PasskeySource) -> AuthViewModel {
    AuthViewModel(session, passkeys: passkeys, preferences: NoPreferences())
  }

  @Test func `makes a guest's account a full one with the same ID, in which another device signs in with it`()
    async throws
  {
    let passkey = SoftPasskey(origin: "https://id.example.org")
    try await RealServer.run { server async throws in
      let phone = session(server, on: "phone")
      try await phone.signInAnonymously()
      let guest = try #require(phone.currentUser)
      #expect(guest.isAnonymous)
      let up = form(phone, passkey)
      up.form = .signUp
      (up.email, up.username) = ("ada@example.org", "Ada")
      #expect(up.offersPasskeySignUp)
      await up.signUpWithPasskey()?.value
      #expect(up.failure == nil && up.question == nil)
      #expect(phone.currentUser == Profile(id: guest.id, name: "Ada"))
      #expect(try await server.server.registry.account(guest.id)?.email?.typed == "ada@example.org")
      // The guest's token is no longer good for anything; the new session is.
      #expect(try await phone.proofs().contains(.passkey))

      let tablet = session(server, on: "tablet")
      let sign = form(tablet, passkey)
      await sign.signInWithPasskey()?.value
      #expect(sign.failure == nil && tablet.currentUser == phone.currentUser)

      // Another guest cannot have the same address, and keeps what the guest has.
      let other = session(server, on: "watch")
      try await other.signInAnonymously()
      let second = try #require(other.currentUser)
      let taken = form(other, SoftPasskey(origin: "https://id.example.org"))
      taken.form = .signUp
      (taken.email, taken.username) = ("ada@example.org", "Eve")
      await taken.signUpWithPasskey()?.value
      #expect(taken.question == .accountExists && other.currentUser == second)
    }
  }
}

private final class NoPreferences: UserDefaults {
  override func object(forKey name: String) -> Any? { nil }
  override func string(forKey name: String) -> String? { nil }
  override func removeObject(forKey name: String) {}
  override func set(_ value: Bool, forKey name: String) {}
  override func set(_ value: Any?, forKey name: String) {}
}

/// A device with one passkey, which it makes when it is asked for a new one (WebAuthn Level 3 section 6.5).
private final class SoftPasskey: PasskeySource {
  private let key = P256.Signing.PrivateKey()
  private let id = (0..<24).map { _ in UInt8.random(in: 0 ... .max) }
  private let user = Locked<[UInt8]>([])
  private let origin: String

  init(origin: String) { self.origin = origin }

  @concurrent func answer(to options: [UInt8], for request: PasskeyRequest) async throws(SessionError) -> [UInt8] {
    switch request {
    case .signIn, .offer: try assertion(PasskeyQuestion(options: options))
    case .add, .upgrade: registration(try NewPasskeyQuestion(options: options))
    }
  }

  @concurrent func report(_ signal: PasskeySignal) async {}

  private func registration(_ question: NewPasskeyQuestion) -> [UInt8] {
    user.withLock { $0 = question.user }
    let point = Array(key.publicKey.rawRepresentation)
    // A key of ES256 (RFC 9053 section 7.1.1), behind its ID and that of the authenticator's model.
    var data = authenticatorData(question.domain, flags: 0x45, count: 1)
    data += [UInt8](repeating: 0, count: 16) + [0, UInt8(id.count)] + id
    data += [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32] + point.prefix(32)
    data += [0x22, 0x58, 32] + point.suffix(32)
    // Three members in CBOR: no attestation, hence no statement, and the data.
    var object: [UInt8] = [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8)
    object += [0x67] + Array("attStmt".utf8) + [0xA0, 0x68] + Array("authData".utf8)
    object += [0x58, UInt8(data.count)] + data
    let client = clientData("webauthn.create", question.challenge)
    return PasskeyAnswer(id: id, clientData: client, attestation: object).json
  }

  private func assertion(_ question: PasskeyQuestion) throws(SessionError) -> [UInt8] {
    let data = authenticatorData(question.domain, flags: 0x05, count: 2)
    let client = clientData("webauthn.get", question.challenge)
    let signed = Data(data) + Data(SHA256.hash(data: Data(client)))
    guard let signature = try? key.signature(for: signed) else { throw .unsupported("this key") }
    return PasskeyAnswer(
      id: id, clientData: client, authenticatorData: data, signature: Array(signature.derRepresentation),
      userHandle: user.withLock { $0 }
    ).json
  }

  private func authenticatorData(_ domain: String, flags: UInt8, count: UInt8) -> [UInt8] {
    Array(SHA256.hash(data: Data(domain.utf8))) + [flags, 0, 0, 0, count]
  }

  private func clientData(_ type: String, _ challenge: [UInt8]) -> [UInt8] {
    let challenge = Base64URL.encode(challenge)
    return Array(#"{"type":"\#(type)","challenge":"\#(challenge)","origin":"\#(origin)","crossOrigin":false}"#.utf8)
  }
}
#endif
