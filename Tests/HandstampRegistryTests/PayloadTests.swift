import HandstampCore
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A stored payload` {
  /// - Parameter payload: has only what each of its kind has.
  private func expectOneForm<Payload: StoredPayload & Equatable>(of payload: Payload) {
    let fields = payload.fields.compactMapValues { $0 }
    #expect(Payload(fields: fields) == payload)
    for name in fields.keys {
      var rest = fields
      rest[name] = nil
      #expect(Payload(fields: rest) == nil, "\(Payload.self) without \(name)")
    }
  }

  @Test func `is not read without one of its fields`() {
    expectOneForm(of: LogoutJob(client: "c", account: "ada", session: "s"))
    expectOneForm(of: AppleGrant(client: "c"))
    expectOneForm(of: FormerEnd(refresh: "r", access: nil))
    expectOneForm(of: MailJob(kind: .reset))
    expectOneForm(of: Consent(client: "c", name: "C", scopes: [], audiences: [], givenAt: start))
    expectOneForm(of: LinkedIdentity(ExternalIdentity(issuer: "https://a.example", subject: "1"), of: "ada", at: start))
    expectOneForm(
      of: PasskeyRecord(
        id: "p", account: "ada", publicKey: [1], signCount: 0, isBackupEligible: false, isBackedUp: false,
        transports: [], name: "", createdAt: start))
    expectOneForm(
      of: Webhook(
        settings: Webhook.Settings(name: "crm", url: "https://crm.example.org/hook"), id: "w",
        signer: Webhook.Signer(key: KeyID("k1"), generation: 0), cursor: .zero))
  }
}
