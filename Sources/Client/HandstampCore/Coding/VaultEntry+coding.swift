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
    let isEntry = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1: return FieldReader.set(&session, StoredSession(fields: value))
      case 2:
        guard let tombstone = Tombstone(fields: value) else { return false }
        tombstones.append(tombstone)
      case 3:
        var reader = FieldReader(value)
        guard let sequence = reader.number(UInt64.self), let code = reader.take(AuditCode.byteCount), reader.isAtEnd
        else { return false }
        auditHead = AuditCode(code).map { AuditHead(sequence: sequence, code: $0) }
      case 4: return FieldReader.set(&signIn, PendingSignIn(fields: value))
      default: break
      }
      return true
    }
    if !isEntry { return nil }
  }
}

extension PendingSignIn {
  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var (key, purpose, startedAt): (RotationKey?, UInt64?, Int64?)
    let isSignIn = FieldReader.fields(fields) { tag, value in
      var reader = FieldReader(value)
      switch tag {
      case 1: return FieldReader.set(&key, RotationKey(bytes: value))
      case 2:
        purpose = reader.number()
        return purpose != nil && reader.isAtEnd
      case 3:
        startedAt = reader.number()
        return startedAt != nil && reader.isAtEnd
      default: return true
      }
    }
    guard isSignIn, let key, let purpose, let startedAt else { return nil }
    self.init(key: key, purpose: purpose, startedAt: UnixTime(milliseconds: startedAt))
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

  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var id: String?
    var profile: Profile?
    var refresh: RefreshToken?
    var pendingKey: RotationKey?
    var attempt: RefreshAttempt?
    var revocation: RevocationHandle?
    var access: StoredAccess?
    var startedAt: Moment?
    var activeAt: Moment?
    var rotationKeys = RotationKeyUse.unknown
    var isRotated: Bool?
    var issuer: String?
    var idToken: StoredIDToken?
    var targeted: [TokenTarget: StoredAccess] = [:]
    let isSession = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1: return FieldReader.set(&id, FieldReader.text(value))
      case 2: return FieldReader.set(&profile, Profile(fields: value))
      case 3: refresh = RefreshToken(Secret(bytes: value))
      case 4: return FieldReader.set(&pendingKey, RotationKey(bytes: value))
      case 5: revocation = RevocationHandle(Secret(bytes: value))
      case 6: return FieldReader.set(&access, StoredAccess(fields: value))
      case 7: return FieldReader.set(&startedAt, Moment(fields: value))
      case 8: return FieldReader.set(&activeAt, Moment(fields: value))
      case 9: return FieldReader.set(&attempt, RefreshAttempt(fields: value))
      // A value of a later version counts as none: then no repeat is free.
      case 10: rotationKeys = (value.first.flatMap { RotationKeyUse(rawValue: $0) }) ?? .ignored
      case 11: isRotated = !value.elementsEqual([0])
      case 12: return FieldReader.set(&issuer, FieldReader.text(value))
      case 13: return FieldReader.set(&idToken, StoredIDToken(fields: value))
      case 14:
        var (target, access): (TokenTarget?, StoredAccess?)
        let isToken = FieldReader.fields(value) { tag, value in
          switch tag {
          case 1: return FieldReader.set(&target, TokenTarget(fields: value))
          case 2: return FieldReader.set(&access, StoredAccess(fields: value))
          default: return true
          }
        }
        guard isToken, let target, let access else { return false }
        targeted[target] = access
      default: break
      }
      return true
    }
    guard isSession, let id, let startedAt, let activeAt else { return nil }
    self.init(
      id: SessionID(id), profile: profile, refresh: refresh, pendingKey: pendingKey, attempt: attempt,
      revocation: revocation,
      access: access, startedAt: startedAt, activeAt: activeAt, rotationKeys: rotationKeys, isRotated: isRotated,
      issuer: issuer)
    self.idToken = idToken
    self.targeted = targeted
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

  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var scopes: [String] = []
    var (resource, audience): (String?, String?)
    let isTarget = FieldReader.fields(fields) { tag, value in
      guard (1...3).contains(tag) else { return true }
      guard let text = FieldReader.text(value) else { return false }
      switch tag {
      case 1: scopes.append(text)
      case 2: resource = text
      default: audience = text
      }
      return true
    }
    guard isTarget else { return nil }
    self.init(scopes: scopes, resource: resource, audience: audience)
  }
}

extension StoredIDToken {
  /// Has the fields of an access token with a lifetime.
  fileprivate func write(to writer: inout FieldWriter) {
    StoredAccess(token: AccessToken(secret), lifetime: lifetime).write(to: &writer)
  }

  fileprivate init?(fields: UnsafeRawBufferPointer) {
    guard let stored = StoredAccess(fields: fields), let token = stored.token, let lifetime = stored.lifetime else {
      return nil
    }
    self.init(token.secret, lifetime: lifetime)
  }
}

extension Profile {
  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var id: String?
    var name: String?
    var isAnonymous = false
    let isProfile = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1: return FieldReader.set(&id, FieldReader.text(value))
      case 2: return FieldReader.set(&name, FieldReader.text(value))
      case 3: isAnonymous = value.elementsEqual([1])
      default: break
      }
      return true
    }
    guard isProfile, let id, let name else { return nil }
    self.init(id: AccountID(id), name: name, isAnonymous: isAnonymous)
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

  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var secret: Secret?
    var isCookies = false
    var start: Moment?
    var duration: Duration?
    let isAccess = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1: secret = Secret(bytes: value)
      case 2: return FieldReader.set(&start, Moment(fields: value))
      case 3: return FieldReader.set(&duration, Duration(fields: value))
      case 4: isCookies = value.elementsEqual([1])
      default: break
      }
      return true
    }
    // An incomplete lifetime is an error: a token without an end would be used for too long.
    guard isAccess, let secret, (start == nil) == (duration == nil) else { return nil }
    let lifetime = start.flatMap { start in duration.map { Lifetime(start: start, duration: $0) } }
    self.init(isCookies ? .cookies(secret) : .accessToken(AccessToken(secret)), lifetime: lifetime)
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

  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var since: Moment?
    var process: Int32?
    var readings: [Moment] = []
    var first: Moment?
    var limit: Duration?
    var (startedAt, namespace): (UInt64?, UInt64?)
    var isOver = false
    var lock: FileIdentity?
    let isAttempt = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1: return FieldReader.set(&since, Moment(fields: value))
      case 2:
        var reader = FieldReader(value)
        process = reader.number()
        return process != nil && reader.isAtEnd
      case 3:
        guard let reading = Moment(fields: value) else { return false }
        readings.append(reading)
      case 4: return FieldReader.set(&first, Moment(fields: value))
      case 5: return FieldReader.set(&limit, Duration(fields: value))
      case 6:
        var reader = FieldReader(value)
        (startedAt, namespace) = (reader.number(), reader.number())
        return namespace != nil && reader.isAtEnd
      case 7: isOver = value.elementsEqual([1])
      case 9:
        var reader = FieldReader(value)
        guard let device = reader.number(UInt64.self), let number = reader.number(UInt64.self) else { return false }
        lock = FileIdentity(device: device, number: number)
        return reader.isAtEnd
      default: break
      }
      return true
    }
    guard isAttempt, let since, let process, let limit else { return nil }
    self.init(
      since: since, sender: ProcessIdentity(id: process, startedAt: startedAt, namespace: namespace), first: first,
      limit: limit, isOver: isOver, readings: readings)
    self.lock = lock
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

  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var session: String?
    var account: String?
    var steps: [String] = []
    var reason: EndReason?
    var endedAt: Moment?
    var revocation: RevocationHandle?
    var delay: DeliveryDelay?
    var (issuer, provider): (String?, String?)
    let isTombstone = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1: return FieldReader.set(&session, FieldReader.text(value))
      // A reason of a newer program: the session has ended all the same.
      case 2: reason = FieldReader.text(value).flatMap(EndReason.init(rawValue:)) ?? .rejected
      case 3: return FieldReader.set(&endedAt, Moment(fields: value))
      case 4: revocation = RevocationHandle(Secret(bytes: value))
      case 5: return FieldReader.set(&account, FieldReader.text(value))
      case 6:
        guard let step = FieldReader.text(value) else { return false }
        steps.append(step)
      case 7:
        var reader = FieldReader(value)
        guard let attempts = reader.number(UInt32.self), let rest = reader.take(value.count - 4),
          let last = Moment(fields: rest)
        else { return false }
        delay = DeliveryDelay(attempts: Int(attempts), last: last)
      case 8: return FieldReader.set(&issuer, FieldReader.text(value))
      case 9: provider = FieldReader.text(value)
      default: break
      }
      return true
    }
    guard isTombstone, let session, let reason, let endedAt else { return nil }
    self.init(
      session: SessionID(session), reason: reason.at(provider), endedAt: endedAt, revocation: revocation,
      account: account.map { AccountID($0) }, issuer: issuer, delay: delay, steps: steps)
  }
}
