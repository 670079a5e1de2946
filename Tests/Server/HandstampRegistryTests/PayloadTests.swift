import HandstampCore
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A stored payload` {
  private struct Form {
    var payload: any StoredPayload
    /// Its stored form, which is part of format 1.
    var text: String
    /// The fields that it may lack.
    var optional: Set<String> = []
  }

  /// The payloads of a kind's items. Kinds without one have a text of their own.
  private func forms(of kind: StoredItem.Kind) -> [Form] {
    switch kind {
    case .consent:
      [
        Form(
          payload: Consent(client: "c", name: "C", scopes: [], audiences: [], givenAt: start),
          text: "audience=&client=c&given=1800000000000&name=C&scope=")
      ]
    case .passkey:
      [
        Form(
          payload: PasskeyRecord(
            id: "p", account: "ada", publicKey: [1], signCount: 0, isBackupEligible: false, isBackedUp: false,
            transports: [], name: "", createdAt: start),
          text: "account=ada&count=0&created=1800000000000&id=p&key=AQ&name=&transports=")
      ]
    case .identity:
      [
        Form(
          payload: LinkedIdentity(ExternalIdentity(issuer: "https://a.example", subject: "1"), of: "ada", at: start),
          text: "account=ada&created=1800000000000&issuer=https%3A%2F%2Fa.example&label=&provider=&subject=1")
      ]
    case .totp: [totp]
    case .appleGrant: [appleGrant]
    case .logout:
      [
        Form(
          payload: LogoutJob(client: "c", account: "ada", session: "s"),
          text: "account=ada&attempts=0&client=c&failures=0&lease=&session=s")
      ]
    case .mail: [Form(payload: MailJob(kind: .reset), text: "attempts=0&failures=0&kind=reset&lease=&name=")]
    case .machine:
      [
        Form(
          payload: MachineRecord(client: "c", session: "s", issuedAt: start, count: 2, address: "a"),
          text: "address=a&client=c&count=2&issued=1800000000000&session=s", optional: ["address"])
      ]
    case .registration:
      [
        Form(
          payload: RegisteredClient(id: "c", name: "C", redirectURIs: ["r", "q"], scopes: ["s"], registeredAt: start),
          text: "client=c&name=C&redirects=r%20q&registered=1800000000000&scope=s", optional: ["name"])
      ]
    case .webhook:
      [
        Form(
          payload: Webhook(
            settings: Webhook.Settings(name: "crm", url: "https://crm.example.org/hook"), id: "w",
            signer: Webhook.Signer(key: KeyID("k1"), generation: 0), cursor: .zero),
          text: "cursor=0&delivered=0&events=&format=standard&generation=0&id=w&key=k1&lease=&name=crm"
            + "&url=https%3A%2F%2Fcrm.example.org%2Fhook")
      ]
    case .deadLetter:
      [
        Form(
          payload: DeadLetter(
            event: EventID(rawValue: 7), type: .sessionEnded, account: "ada", session: "s", failure: "f",
            givenUpAt: start),
          text: "account=ada&at=1800000000000&event=7&failure=f&session=s&type=session.ended", optional: ["session"])
      ]
    case .formerToken:
      [
        Form(
          payload: FormerToken.Record(
            account: "ada", authenticatedAt: start, isImported: true, successor: "x", claimedUntil: start,
            unanswered: 1, session: "s"),
          text: "account=ada&authenticated=1800000000000&claimed=1800000000000&imported=1&session=s&successor=x"
            + "&unanswered=1",
          optional: ["account", "authenticated", "claimed", "imported", "session", "successor"])
      ]
    case .formerEnd:
      [Form(payload: FormerEnd(refresh: "r", access: nil), text: "attempts=0&failures=0&lease=&refresh=r")]
    case .upstreamSession:
      [
        Form(payload: UpstreamDependency(session: "s", key: "k"), text: "key=k&session=s", optional: ["key"])
      ]
    case .upstreamEnd: [upstreamMark]
    case .guesses, .device, .client, .emailChange, .recoveryCodes, .groups, .probe, .masterKey, .nodeKeys, .tokenLife,
      .auditCopy, .removal, .upstreamEvent:
      []
    }
  }

  private var totp: Form {
    var record = TOTPRecord(account: "ada", createdAt: start, step: 3, sealed: "x")
    record.lastUsedAt = start
    return Form(
      payload: record, text: "account=ada&created=1800000000000&sealed=x&step=3&used=1800000000000",
      optional: ["used"])
  }

  private var appleGrant: Form {
    var grant = AppleGrant(client: "c")
    (grant.code, grant.token, grant.endedAt, grant.tries.failure) = ("x", "y", start, "f")
    return Form(
      payload: grant,
      text: "attempts=0&client=c&code=x&ended=1800000000000&failure=f&failures=0&lease=&token=y",
      optional: ["code", "ended", "failure", "token"])
  }

  private var upstreamMark: Form {
    var mark = UpstreamMark()
    (mark.endedAt, mark.heardAt, mark.isDisabled, mark.stateAt) = (start, start, true, start)
    return Form(
      payload: mark, text: "disabled=1&ended=1800000000000&heard=1800000000000&state=1800000000000",
      optional: ["disabled", "ended", "heard", "state"])
  }

  private var allowed: ClientAccess {
    var access = ClientAccess(client: "c", clientName: "C", scope: "s", audience: "a")
    (access.authenticatedAt, access.absoluteExpiry, access.redeemableUntil) = (start, start, start)
    (access.browser, access.session, access.context) = ("b", "i", .phishingResistant)
    access.methods = AuthenticationMethods(text: "pwd", asked: access.context)
    return access
  }

  /// The payloads of one-time tokens. A pushed request is a form that the client has sent.
  private func forms(of purpose: OneTimeTokenRecord.Purpose) -> [Form] {
    switch purpose {
    case .authorizationCode:
      var grant = CodeGrant(
        client: "c", clientName: "C", redirectURI: "r", challenge: "h", scope: "s", audience: "a", thumbprint: "t",
        nonce: "n")
      (grant.access, grant.isBorrowed) = (allowed, true)
      return [
        Form(
          payload: grant,
          text: "acr=phr&audience=a&authenticated=1800000000000&borrowed=1&browser=b&challenge=h&client=c&methods=pwd"
            + "&name=C&nonce=n&redeemable=1800000000000&redirect=r&scope=s&session=i&thumbprint=t&until=1800000000000",
          optional: [
            "acr", "audience", "authenticated", "borrowed", "browser", "challenge", "methods", "nonce", "redeemable",
            "session", "thumbprint", "until",
          ])
      ]
    case .deviceCode, .userCode:
      var grant = DeviceGrant(client: "c", clientName: "C", scope: "s", audience: "a")
      (grant.access, grant.other, grant.isDenied, grant.maxAge) = (allowed, "o", true, .seconds(60))
      return [
        Form(
          payload: grant,
          text: "acr=phr&audience=a&authenticated=1800000000000&browser=b&client=c&denied=1&max_age=60&methods=pwd"
            + "&name=C&other=o&redeemable=1800000000000&scope=s&session=i&until=1800000000000",
          optional: [
            "acr", "audience", "authenticated", "browser", "denied", "max_age", "methods", "redeemable", "session",
            "until",
          ])
      ]
    // A used code has the payload of the code.
    case .usedCode, .passwordReset, .signUp, .upgrade, .emailChange, .ownerProof, .nonce, .pushedRequest: return []
    }
  }

  private func expectOneForm<Payload: StoredPayload>(of payload: Payload, _ form: Form) {
    #expect(PayloadCoding.text(payload) == form.text)
    #expect(PayloadCoding.value(Payload.self, form.text).map { PayloadCoding.text($0) } == form.text)
    let fields = payload.fields.compactMapValues { $0 }
    for name in fields.keys {
      var rest = fields
      rest[name] = nil
      #expect((Payload(fields: rest) != nil) == form.optional.contains(name), "\(Payload.self) without \(name)")
    }
  }

  @Test func `has one text, and is not read without a field that each has`() {
    let items = StoredItem.Kind.allCases.flatMap { forms(of: $0) }
    let tokens = OneTimeTokenRecord.Purpose.allCases.flatMap { forms(of: $0) }
    for form in items + tokens { expectOneForm(of: form.payload, form) }
  }
}
