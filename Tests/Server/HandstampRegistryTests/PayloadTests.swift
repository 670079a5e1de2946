import HandstampCore
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A stored payload` {
  /// - Parameters:
  ///   - payload: has only what each of its kind has.
  ///   - text: its stored form, which is part of format 1.
  private func expectOneForm<Payload: StoredPayload & Equatable>(of payload: Payload, _ text: String) {
    #expect(PayloadCoding.text(payload) == text)
    #expect(PayloadCoding.value(Payload.self, text) == payload)
    let fields = payload.fields.compactMapValues { $0 }
    for name in fields.keys {
      var rest = fields
      rest[name] = nil
      #expect(Payload(fields: rest) == nil, "\(Payload.self) without \(name)")
    }
  }

  @Test func `has one text, and is not read without one of its fields`() {
    expectOneForm(
      of: LogoutJob(client: "c", account: "ada", session: "s"),
      "account=ada&attempts=0&client=c&failures=0&lease=&session=s")
    expectOneForm(of: AppleGrant(client: "c"), "attempts=0&client=c&failures=0&lease=")
    expectOneForm(of: FormerEnd(refresh: "r", access: nil), "attempts=0&failures=0&lease=&refresh=r")
    expectOneForm(of: MailJob(kind: .reset), "attempts=0&failures=0&kind=reset&lease=&name=")
    expectOneForm(
      of: Consent(client: "c", name: "C", scopes: [], audiences: [], givenAt: start),
      "audience=&client=c&given=1800000000000&name=C&scope=")
    expectOneForm(
      of: LinkedIdentity(ExternalIdentity(issuer: "https://a.example", subject: "1"), of: "ada", at: start),
      "account=ada&created=1800000000000&issuer=https%3A%2F%2Fa.example&label=&provider=&subject=1")
    expectOneForm(
      of: PasskeyRecord(
        id: "p", account: "ada", publicKey: [1], signCount: 0, isBackupEligible: false, isBackedUp: false,
        transports: [], name: "", createdAt: start),
      "account=ada&count=0&created=1800000000000&id=p&key=AQ&name=&transports=")
    expectOneForm(
      of: Webhook(
        settings: Webhook.Settings(name: "crm", url: "https://crm.example.org/hook"), id: "w",
        signer: Webhook.Signer(key: KeyID("k1"), generation: 0), cursor: .zero),
      "cursor=0&delivered=0&events=&format=standard&generation=0&id=w&key=k1&lease=&name=crm"
        + "&url=https%3A%2F%2Fcrm.example.org%2Fhook")
  }
}
