public import HandstampCore

/// A device that waits for somebody to sign in on another one (RFC 8628).
public struct DeviceGrant: Sendable, Hashable {
  /// How long the codes are good.
  public static let life = Duration.seconds(600)
  /// How often a device may ask.
  public static let interval = Duration.seconds(5)

  public var client: String
  public var clientName: String
  public var scope: String
  public var audience: String?
  /// The ticket of the other code: of the device's in the person's, and the other way round.
  var other: String
  var isDenied = false

  public init(client: String, clientName: String, scope: String, audience: String? = nil) {
    self.client = client
    self.clientName = clientName
    self.scope = scope
    self.audience = audience
    other = ""
  }
}

/// Both codes of a device's request.
public struct DeviceCodes: Sendable, Hashable {
  public var device: LinkSecret
  public var user: UserCode
}

/// What a person types: eight consonants, so that they make no word (RFC 8628 section 6.1).
public struct UserCode: Sendable, Hashable {
  private static let alphabet = Array("BCDFGHJKLMNPQRSTVWXZ")
  private static let count = 8

  /// The letters alone.
  let letters: String

  /// As it is shown: in two halves.
  public var text: String { "\(letters.prefix(4))-\(letters.suffix(4))" }

  init(from random: inout some RandomNumberGenerator) {
    letters = String((0..<UserCode.count).map { _ in UserCode.alphabet.randomElement(using: &random) ?? "B" })
  }

  /// Reads what somebody typed, small letters, spaces and hyphens included; nothing for what is no code.
  public init?(typed: String) {
    guard typed.utf8.count <= 32 else { return nil }
    let letters = typed.uppercased().filter { $0 != "-" && $0 != " " }
    guard letters.count == UserCode.count, letters.allSatisfy({ UserCode.alphabet.contains($0) }) else { return nil }
    self.letters = letters
  }

  var ticket: TicketID { TicketID(of: Secret(letters), purpose: .userCode) }
}

/// What a device hears that asks.
public enum DeviceOutcome: Sendable, Hashable {
  case signedIn(NewSession)
  /// `authorization_pending`: nobody has answered.
  case pending
  /// `access_denied`.
  case denied
  /// `expired_token`.
  case expired
  /// None of ours, of another client, or used.
  case invalid
}

extension Registry {
  /// Begins a device's request.
  public func beginDevice(_ grant: DeviceGrant, now: UnixTime) async throws(RegistryError) -> DeviceCodes {
    for _ in 0..<Registry.attempts {
      var source = source
      let (device, user) = (LinkSecret(from: &source), UserCode(from: &source))
      let ids = (device: TicketID(of: device.secret, purpose: .deviceCode), user: user.ticket)
      func ticket(_ id: TicketID, _ purpose: Ticket.Purpose, other: TicketID) -> Ticket {
        var grant = grant
        grant.other = Base64URL.encode(other.bytes)
        return Ticket(
          id: id, purpose: purpose, subject: grant.client, payload: GrantCoding.text(grant), createdAt: now,
          expiresAt: now.advanced(by: DeviceGrant.life))
      }
      let changes: [RegistryChange] = [
        .createTicket(ticket(ids.device, .deviceCode, other: ids.user)),
        .createTicket(ticket(ids.user, .userCode, other: ids.device)),
      ]
      do throws(RegistryStoreError) {
        _ = try await store.write(changes, events: [])
        return DeviceCodes(device: device, user: user)
      } catch {
        // That code is in use: draw another.
        guard error == .exists else { throw RegistryError(error) }
      }
    }
    throw Registry.contention
  }

  /// What the device wants that shows this code; nothing where no device shows it.
  public func device(showing code: UserCode, now: UnixTime) async throws(RegistryError) -> DeviceGrant? {
    try await liveTicket(code.ticket, now: now).flatMap { GrantCoding.value(DeviceGrant.self, $0.payload) }
  }

  /// The person's answer. Good once: the code is then nobody's. Returns false where no device shows it.
  public func answerDevice(
    showing code: UserCode, as account: AccountID, allows: Bool, now: UnixTime
  ) async throws(RegistryError) -> Bool {
    guard let user = try await liveTicket(code.ticket, now: now),
      let grant = GrantCoding.value(DeviceGrant.self, user.payload),
      let id = Base64URL.decode(grant.other).flatMap({ TicketID($0) }),
      let waiting = try await liveTicket(id, now: now)
    else { return false }
    var answered = grant
    answered.isDenied = !allows
    let ticket = Ticket(
      id: id, purpose: .deviceCode, subject: waiting.subject, account: allows ? account : nil,
      payload: GrantCoding.text(answered), createdAt: waiting.createdAt, expiresAt: waiting.expiresAt)
    do throws(RegistryStoreError) {
      _ = try await store.write([.useTicket(user.id), .useTicket(id), .createTicket(ticket)], events: [])
      return true
    } catch {
      guard error == .missing else { throw RegistryError(error) }
      return false
    }
  }

  /// Begins the session that a device's code stands for, once somebody allowed it.
  public func redeemDevice(
    _ presented: Secret, client: String, thumbprint: String? = nil, now: UnixTime
  ) async throws(RegistryError) -> DeviceOutcome {
    guard let code = LinkSecret(presented: presented)?.secret else { return .invalid }
    for _ in 0..<Registry.attempts {
      guard let ticket = try await ticket(TicketID(of: code, purpose: .deviceCode)),
        let grant = GrantCoding.value(DeviceGrant.self, ticket.payload), grant.client == client
      else { return .invalid }
      guard ticket.expiresAt > now else { return .expired }
      guard !grant.isDenied else { return .denied }
      guard let id = ticket.account else { return .pending }
      guard let account = try await account(id), account.closedAt == nil else { return .denied }
      var source = source
      let session = SessionBytes(from: &source)
      let origin = SessionOrigin(
        kind: .plain, client: SessionClient(id: client, scope: grant.scope, audience: grant.audience),
        thumbprint: thumbprint, session: session)
      do throws(RegistryError) {
        return .signedIn(
          try await createSession(
            for: account, device: DeviceInfo(client: grant.clientName, session), origin: origin,
            with: [.useTicket(ticket.id)], now: now))
      } catch {
        guard error == .linkInvalid || error == .accountChanged else { throw error }
      }
    }
    throw Registry.contention
  }
}
