public import HandstampCore
import HandstampSupport

/// The request of a device that waits for its user to sign in on another one (RFC 8628).
public struct DeviceGrant: Sendable, Hashable {
  /// Lifetime of the codes.
  public static let life = Duration.seconds(600)
  /// Minimum time between polls of a device.
  public static let interval = Duration.seconds(5)

  public var access: ClientAccess
  /// Maximum time since the user has signed in; `nil` for any.
  public var maxAge: Duration?
  /// The ID of the other code's record: the user code's record has the device code's, and vice versa.
  var other: String
  var isDenied = false

  public init(client: String, clientName: String, scope: String, audience: String? = nil) {
    access = ClientAccess(client: client, clientName: clientName, scope: scope, audience: audience)
    other = ""
  }
}

/// The two codes of a device's request.
public struct DeviceCodes: Sendable, Hashable {
  public var device: OneTimeToken
  public var user: UserCode
}

/// The code that a user types: eight consonants, so that it never forms a word (RFC 8628 section 6.1).
public struct UserCode: Sendable, Hashable {
  private static let alphabet = "BCDFGHJKLMNPQRSTVWXZ"
  private static let count = 8

  /// The letters without the hyphen.
  let letters: String

  /// The code as displayed, in two halves.
  public var text: String { "\(letters.prefix(4))-\(letters.suffix(4))" }

  init(from random: inout some RandomNumberGenerator) {
    let alphabet = Array(UserCode.alphabet)
    letters = String((0..<UserCode.count).map { _ in alphabet[.random(in: alphabet.indices, using: &random)] })
  }

  /// Reads a code as it was typed. Returns `nil` if it is not a valid code.
  public init?(typed: String) {
    letters = typed.typed(in: UserCode.alphabet)
    guard letters.count == UserCode.count else { return nil }
  }

  var id: OneTimeTokenID { OneTimeTokenID(of: Secret(letters), purpose: .userCode) }
}

extension Registry {
  /// Starts a device's request and issues its codes.
  public func beginDevice(_ grant: DeviceGrant, now: UnixTime) async throws(RegistryError) -> DeviceCodes {
    for _ in 0..<Registry.attempts {
      var source = source
      let (device, user) = (OneTimeToken(from: &source), UserCode(from: &source))
      let ids = (device: OneTimeTokenID(of: device.secret, purpose: .deviceCode), user: user.id)
      func record(_ id: OneTimeTokenID, _ purpose: OneTimeTokenRecord.Purpose, other: OneTimeTokenID)
        -> OneTimeTokenRecord
      {
        var grant = grant
        grant.other = Base64URL.encode(other.bytes)
        return OneTimeTokenRecord(
          id: id, purpose: purpose, subject: grant.access.client, payload: PayloadCoding.text(grant), createdAt: now,
          expiresAt: now.advanced(by: DeviceGrant.life))
      }
      let changes: [RegistryChange] = [
        .createOneTimeToken(record(ids.device, .deviceCode, other: ids.user)),
        .createOneTimeToken(record(ids.user, .userCode, other: ids.device)),
      ]
      // If it cannot be written, the code is in use: draw another one.
      if try await write(changes, []) { return DeviceCodes(device: device, user: user) }
    }
    throw Registry.contention
  }

  /// Returns the request of the device that displays this code, or `nil` if there is none.
  public func device(showing code: UserCode, now: UnixTime) async throws(RegistryError) -> DeviceGrant? {
    try await liveOneTimeToken(code.id, now: now).flatMap { PayloadCoding.value(DeviceGrant.self, $0.payload) }
  }

  /// Records the answer of the user of a browser's session, and invalidates the code. Returns `false` if no device displays it, or
  /// that session has ended.
  ///
  /// - Throws: ``RegistryError/accountChanged`` if the account has changed.
  public func answerDevice(
    showing code: UserCode, by user: BrowserSession, allows: Bool, now: UnixTime
  ) async throws(RegistryError) -> Bool {
    guard let shown = try await liveOneTimeToken(code.id, now: now),
      let grant = PayloadCoding.value(DeviceGrant.self, shown.payload),
      let id = Base64URL.decode(grant.other).flatMap({ OneTimeTokenID($0) }),
      let waiting = try await liveOneTimeToken(id, now: now)
    else { return false }
    var answered = grant
    answered.isDenied = !allows
    answered.access.allow(by: user)
    // The device's session depends on a browser that is borrowed.
    if user.row.isBorrowed { answered.access.depend(on: user.row) }
    let record = OneTimeTokenRecord(
      id: id, purpose: .deviceCode, subject: allows ? user.account.id.rawValue : waiting.subject,
      account: allows ? user.account.id : nil,
      payload: PayloadCoding.text(answered), createdAt: waiting.createdAt, expiresAt: waiting.expiresAt)
    do throws(RegistryStoreError) {
      try await store.write(
        [.redeemOneTimeToken(shown.id), .redeemOneTimeToken(id), .createOneTimeToken(record)] + user.expectations,
        events: [])
      return true
    } catch {
      guard error != .notFound else { return false }
      throw RegistryError(error, changed: .accountChanged)
    }
  }

  /// Redeems a device code and creates its session once the user has allowed it.
  ///
  /// A repeat of the same request, with the same key, is the same use until the session is used or the code has expired. Anything else
  /// is a second use.
  ///
  /// - Parameters:
  ///   - persistence: how the client keeps the session.
  ///   - key: the client's key for this request.
  ///   - narrow: the grant of the access token within the code's. Called before anything is written.
  public func redeemDevice(
    _ presented: Secret, client: String, _ persistence: SessionPersistence = .persistent, thumbprint: String? = nil,
    key: RotationKey? = nil, now: UnixTime, narrow: GrantNarrowing = { $0 }
  ) async throws(RegistryError) -> CodeOutcome {
    guard let code = OneTimeToken(presented: presented)?.secret else { return .invalid }
    let used = OneTimeTokenID(of: code, purpose: .usedCode)
    let start = SessionStart(byCodeWith: key, persistence, thumbprint: thumbprint)
    for _ in 0..<Registry.attempts {
      guard let record = try await oneTimeToken(OneTimeTokenID(of: code, purpose: .deviceCode)) else {
        guard let previous = try await oneTimeToken(used),
          let grant = PayloadCoding.value(DeviceGrant.self, previous.payload), grant.access.client == client
        else { return .invalid }
        return try await redeemAgain(
          previous, grant, grant.origin(start, by: .deviceCode, as: used), now: now, narrow: narrow)
      }
      guard let grant = PayloadCoding.value(DeviceGrant.self, record.payload), grant.access.client == client else {
        return .invalid
      }
      guard record.expiresAt > now else { return .expired }
      let origin = grant.origin(start, by: .deviceCode, as: used)
      let narrowed: SessionClient?
      do { narrowed = try narrow(origin.client) } catch { return .notGranted(error) }
      guard !grant.isDenied else { return .denied }
      guard let id = record.account else { return .pending }
      guard let account = try await account(id), account.closedAt == nil else { return .denied }
      guard let expectations = try await expectations(of: grant, now: now) else { return .denied }
      let new = try await redeem(record, grant, as: used, origin, for: account, with: expectations, now: now)
      guard var new else { continue }
      new.grant = narrowed
      return .signedIn(new, nonce: nil)
    }
    throw Registry.contention
  }
}
