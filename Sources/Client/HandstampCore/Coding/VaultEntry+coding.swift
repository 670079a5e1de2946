import HandstampSupport

// The content of a vault as fields. Field numbers are never reused. The revision is not among them: it is in the file's
// header.

extension VaultEntry {
  /// The entry as bytes, without its revision, for a vault to store. They contain the tokens.
  public var encoded: Secret {
    FieldWriter.withBytes(capacity: fieldCapacity, write: write) { fields in Secret(bytes: fields[...]) }
  }

  /// - Throws: ``VaultError/corrupt`` unless `encoded` was ``encoded``.
  public init(revision: UInt64, encoded: Secret) throws(VaultError) {
    guard let entry = encoded.withExposedBytes({ VaultEntry(revision: revision, fields: $0) }) else { throw .corrupt }
    self = entry
  }

  /// A capacity sufficient for the fields.
  package var fieldCapacity: Int {
    let session = session.map { session in
      let secrets = [
        session.refresh?.secret, session.revocation?.secret, session.access?.credential.secret, session.idToken?.secret,
      ]
      let targets = session.targeted.reduce(0) { $0 + 256 + $1.key.size + $1.value.credential.secret.count }
      return secrets.reduce(1024 + targets) { $0 + ($1?.count ?? 0) }
        + session.id.rawValue.utf8.count + (session.issuer?.utf8.count ?? 0)
        + (session.profile.map { $0.id.rawValue.utf8.count + $0.name.utf8.count } ?? 0)
    }
    return tombstones.reduce((session ?? 0) + 64) {
      $0 + 256 + $1.session.rawValue.utf8.count + ($1.revocation?.secret.count ?? 0)
        + ($1.account?.rawValue.utf8.count ?? 0) + ($1.issuer?.utf8.count ?? 0)
        + ($1.reason.provider?.utf8.count ?? 0) + $1.steps.reduce(0) { $0 + 8 + $1.utf8.count }
    }
  }

  package func write(to writer: inout FieldWriter) {
    if let session { writer.field(1) { session.write(to: &$0) } }
    for tombstone in tombstones { writer.field(2) { tombstone.write(to: &$0) } }
    if let auditHead {
      writer.field(3) {
        $0.number(auditHead.sequence)
        $0.raw(auditHead.code.bytes)
      }
    }
    if let signIn {
      writer.field(4) {
        $0.field(1, signIn.key.secret)
        $0.field(2) { $0.number(signIn.purpose) }
        $0.field(3) { $0.number(signIn.startedAt.milliseconds) }
      }
    }
  }

  /// Returns `nil` unless `fields` are the fields of an entry.
  package init?(revision: UInt64, fields: UnsafeRawBufferPointer) {
    self.init(revision: revision)
    let fields = StoredFields(fields)
    do throws(VaultError) {
      session = try fields.nested(1, StoredSession.init).last
      tombstones = try fields.nested(2, Tombstone.init)
      auditHead = try fields.one(3) { value in
        var reader = FieldReader(value)
        guard let sequence = reader.number(UInt64.self), let code = reader.take(AuditCode.byteCount), reader.isAtEnd
        else { return nil }
        return AuditCode(code).map { AuditHead(sequence: sequence, code: $0) }
      }
      signIn = try fields.nested(4, PendingSignIn.init).last
    } catch { return nil }
  }
}

extension PendingSignIn {
  fileprivate init(_ fields: StoredFields) throws(VaultError) {
    try self.init(
      key: fields.need(1) { RotationKey(bytes: $0) }, purpose: fields.need(2, FieldReader.number(of:)),
      startedAt: UnixTime(milliseconds: fields.need(3, FieldReader.number(of:))))
  }
}

extension StoredSession {
  fileprivate func write(to writer: inout FieldWriter) {
    writer.field(1, id.rawValue)
    if let profile {
      writer.field(2) {
        $0.field(1, profile.id.rawValue)
        $0.field(2, profile.name)
        if profile.isAnonymous { $0.field(3, [1]) }
      }
    }
    if let refresh { writer.field(3, refresh.secret) }
    if let pendingKey { writer.field(4, pendingKey.secret) }
    if let revocation { writer.field(5, revocation.secret) }
    if let access { writer.field(6) { access.write(to: &$0) } }
    writer.field(7) { startedAt.write(to: &$0) }
    writer.field(8) { activeAt.write(to: &$0) }
    if let attempt { writer.field(9) { attempt.write(to: &$0) } }
    if rotationKeys != .unknown { writer.field(10, [rotationKeys.rawValue]) }
    if let isRotated { writer.field(11, [isRotated ? 1 : 0]) }
    if let issuer { writer.field(12, issuer) }
    if let idToken { writer.field(13) { idToken.write(to: &$0) } }
    for (target, access) in targeted.sorted(by: { $0.key < $1.key }) {
      writer.field(14) {
        $0.field(1) { target.write(to: &$0) }
        $0.field(2) { access.write(to: &$0) }
      }
    }
  }

  fileprivate init(_ fields: StoredFields) throws(VaultError) {
    try self.init(
      id: SessionID(fields.need(1, FieldReader.text)), profile: fields.nested(2, Profile.init).last,
      refresh: fields.secret(3).map { RefreshToken($0) }, pendingKey: fields.one(4) { RotationKey(bytes: $0) },
      attempt: fields.nested(9, RefreshAttempt.init).last, revocation: fields.secret(5).map { RevocationHandle($0) },
      access: fields.nested(6, StoredAccess.init).last, startedAt: fields.need(7, Moment.init(fields:)),
      activeAt: fields.need(8, Moment.init(fields:)),
      // A value of a later version counts as none: then no repeat is free.
      rotationKeys: fields.one(10) { $0.first.flatMap { RotationKeyUse(rawValue: $0) } ?? .ignored } ?? .unknown,
      isRotated: fields.one(11) { !$0.elementsEqual([0]) }, issuer: fields.text(12))
    idToken = try fields.nested(13, StoredIDToken.init).last
    targeted = Dictionary(try fields.nested(14, StoredSession.targeted)) { $1 }
  }

  private static func targeted(_ fields: StoredFields) throws(VaultError) -> (TokenTarget, StoredAccess) {
    guard let target = try fields.nested(1, TokenTarget.init).last,
      let access = try fields.nested(2, StoredAccess.init).last
    else { throw .corrupt }
    return (target, access)
  }
}

extension TokenTarget {
  fileprivate var size: Int {
    scopes.reduce((resource?.utf8.count ?? 0) + (audience?.utf8.count ?? 0)) { $0 + 8 + $1.utf8.count }
  }

  fileprivate func write(to writer: inout FieldWriter) {
    for scope in scopes { writer.field(1, scope) }
    if let resource { writer.field(2, resource) }
    if let audience { writer.field(3, audience) }
  }

  fileprivate init(_ fields: StoredFields) throws(VaultError) {
    try self.init(scopes: fields.all(1, FieldReader.text), resource: fields.text(2), audience: fields.text(3))
  }
}

extension StoredIDToken {
  /// Has the fields of an access token with a lifetime.
  fileprivate func write(to writer: inout FieldWriter) {
    StoredAccess(token: AccessToken(secret), lifetime: lifetime).write(to: &writer)
  }

  fileprivate init(_ fields: StoredFields) throws(VaultError) {
    let stored = try StoredAccess(fields)
    guard let token = stored.token, let lifetime = stored.lifetime else { throw .corrupt }
    self.init(token.secret, lifetime: lifetime)
  }
}

extension Profile {
  fileprivate init(_ fields: StoredFields) throws(VaultError) {
    try self.init(
      id: AccountID(fields.need(1, FieldReader.text)), name: fields.need(2, FieldReader.text),
      isAnonymous: fields.flag(3))
  }
}

extension StoredAccess {
  fileprivate func write(to writer: inout FieldWriter) {
    writer.field(1, credential.secret)
    if let lifetime {
      writer.field(2) { lifetime.start.write(to: &$0) }
      writer.field(3) { lifetime.duration.write(to: &$0) }
    }
    if case .cookies = credential { writer.field(4, [1]) }
  }

  fileprivate init(_ fields: StoredFields) throws(VaultError) {
    let secret = try fields.need(1) { Secret(bytes: $0) }
    let (start, duration) = (try fields.one(2, Moment.init(fields:)), try fields.one(3, Duration.init(fields:)))
    // An incomplete lifetime is an error: a token without an end would be used for too long.
    guard (start == nil) == (duration == nil) else { throw .corrupt }
    let lifetime = start.flatMap { start in duration.map { Lifetime(start: start, duration: $0) } }
    self.init(try fields.flag(4) ? .cookies(secret) : .accessToken(AccessToken(secret)), lifetime: lifetime)
  }
}

extension RefreshAttempt {
  fileprivate func write(to writer: inout FieldWriter) {
    writer.field(1) { since.write(to: &$0) }
    writer.field(2) { $0.number(sender.id) }
    for reading in readings { writer.field(3) { reading.write(to: &$0) } }
    if let first { writer.field(4) { first.write(to: &$0) } }
    writer.field(5) { limit.write(to: &$0) }
    if let startedAt = sender.startedAt, let namespace = sender.namespace {
      writer.field(6) {
        $0.number(startedAt)
        $0.number(namespace)
      }
    }
    if isOver { writer.field(7, [1]) }
    if let lock {
      writer.field(9) {
        $0.number(lock.device)
        $0.number(lock.number)
      }
    }
  }

  fileprivate init(_ fields: StoredFields) throws(VaultError) {
    let process = try fields.one(6, FieldReader.numbers)
    try self.init(
      since: fields.need(1, Moment.init(fields:)),
      sender: ProcessIdentity(
        id: fields.need(2, FieldReader.number(of:)), startedAt: process?.0, namespace: process?.1),
      first: fields.one(4, Moment.init(fields:)), limit: fields.need(5, Duration.init(fields:)), isOver: fields.flag(7),
      readings: fields.all(3, Moment.init(fields:)))
    lock = try fields.one(9, FieldReader.numbers).map { FileIdentity(device: $0.0, number: $0.1) }
  }
}

extension Tombstone {
  fileprivate func write(to writer: inout FieldWriter) {
    writer.field(1, session.rawValue)
    writer.field(2, reason.rawValue)
    writer.field(3) { endedAt.write(to: &$0) }
    if let revocation { writer.field(4, revocation.secret) }
    if let account { writer.field(5, account.rawValue) }
    for step in steps { writer.field(6, step) }
    if let delay {
      writer.field(7) {
        $0.number(UInt32(clamping: delay.attempts))
        delay.last.write(to: &$0)
      }
    }
    if let issuer { writer.field(8, issuer) }
    if let provider = reason.provider { writer.field(9, provider) }
  }

  fileprivate init(_ fields: StoredFields) throws(VaultError) {
    // A reason of a newer program: the session has ended all the same.
    let reason = try fields.need(2) { FieldReader.text($0).flatMap(EndReason.init(rawValue:)) ?? .rejected }
    let delay = try fields.one(7) { value -> DeliveryDelay? in
      var reader = FieldReader(value)
      guard let attempts = reader.number(UInt32.self), let rest = reader.take(value.count - 4),
        let last = Moment(fields: rest)
      else { return nil }
      return DeliveryDelay(attempts: Int(attempts), last: last)
    }
    try self.init(
      session: SessionID(fields.need(1, FieldReader.text)),
      reason: reason.at(fields.one(9) { .some(FieldReader.text($0)) } ?? nil),
      endedAt: fields.need(3, Moment.init(fields:)),
      revocation: fields.secret(4).map { RevocationHandle($0) }, account: fields.text(5).map { AccountID($0) },
      issuer: fields.text(8), delay: delay, steps: fields.all(6, FieldReader.text))
  }
}
