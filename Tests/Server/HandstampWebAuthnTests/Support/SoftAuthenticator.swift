#if JOSE
import Crypto
import Foundation
import HandstampSupport

@testable import HandstampWebAuthn

/// An authenticator with one passkey, and the browser before it. Its answers are drafts, in which a test changes one part.
struct SoftAuthenticator {
  let key: SoftKey
  var id: [UInt8] = (0..<24).map { _ in .random(in: 0 ... .max) }
  var userHandle: [UInt8] = [UInt8](repeating: 7, count: 32)

  init(_ algorithm: COSEAlgorithm = .es256) throws { key = try SoftKey(algorithm) }

  func registration(at site: Site = Site()) throws -> RegistrationDraft {
    RegistrationDraft(
      clientData: ClientDataDraft(type: "webauthn.create", challenge: site.challenge.text, origin: site.origin),
      data: AuthenticatorDataDraft(
        rpID: site.rpID, flags: [.userPresent, .userVerified, .attestedCredential], signCount: 1, id: id,
        key: try key.cose),
      id: id)
  }

  func assertion(at site: Site = Site()) -> AssertionDraft {
    AssertionDraft(
      clientData: ClientDataDraft(type: "webauthn.get", challenge: site.challenge.text, origin: site.origin),
      data: AuthenticatorDataDraft(rpID: site.rpID, flags: [.userPresent, .userVerified], signCount: 2),
      key: key, id: id, userHandle: userHandle)
  }

  /// The record of the passkey at the server.
  func passkey(signCount: UInt32 = 1, isBackupEligible: Bool = false, of user: [UInt8]? = nil) throws -> Passkey {
    guard let id = CredentialID(id), let user = UserHandle(user ?? userHandle) else { throw CancellationError() }
    return Passkey(
      id: id, publicKey: try COSEKey(try key.cose), userHandle: user, signCount: signCount,
      isBackupEligible: isBackupEligible, isBackedUp: false)
  }
}

/// A server, its page, and what it asked.
struct Site {
  var rpID = "example.com"
  var origin = "https://login.example.com"
  var challenge = Site.challenge(1)

  static func challenge(_ byte: UInt8) -> PasskeyChallenge {
    guard let challenge = PasskeyChallenge([UInt8](repeating: byte, count: 32)) else { fatalError("32 bytes") }
    return challenge
  }

  static let user = [UInt8](repeating: 7, count: 32)

  static func server() throws -> RelyingParty {
    try RelyingParty(
      id: "example.com", name: "Example", origins: ["https://login.example.com", "https://example.com"])
  }

  /// Verifies a registration of ``user``.
  static func register(_ draft: RegistrationDraft) throws -> Passkey {
    guard let user = UserHandle(user) else { throw CancellationError() }
    return try server().verifyRegistration(
      try RegistrationResponse(draft.json), challenge: challenge(1), user: user)
  }

  static func signIn(
    _ draft: AssertionDraft, _ passkey: Passkey, user: AssertionUser = .unknown
  ) throws -> AssertionOutcome {
    try server().verifyAssertion(
      try AssertionResponse(try draft.json), challenge: challenge(1), passkey: passkey, user: user)
  }
}
#endif
