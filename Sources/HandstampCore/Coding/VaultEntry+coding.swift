// The content of a vault as fields. Field numbers are never reused. The revision is not among them: it is in the file's
// header.

extension VaultEntry {
  /// The entry as bytes, without its revision, for a vault to store. They contain the tokens.
  public var encoded: Secret {
    FieldWriter.withBytes(capacity: fieldCapacity, write: write) { fields in Secret(bytes: fields[...]) }
  }

  /// - Throws: ``VaultError/corrupt`` unless `encoded` was ``encoded`` by this version or an earlier one.
  public init(revision: UInt64, encoded: Secret) throws(VaultError) {
    guard let entry = encoded.withExposedBytes({ VaultEntry(revision: revision, fields: $0) }) else { throw .corrupt }
    self = entry
  }

  /// A capacity sufficient for the fields.
  package var fieldCapacity: Int {
    let session = session.map { session in
      let secrets = [session.refresh?.secret, session.revocation?.secret, session.access?.credential.secret]
      return secrets.reduce(1024) { $0 + ($1?.count ?? 0) }
        + session.id.rawValue.utf8.count + (session.issuer?.utf8.count ?? 0)
        + (session.profile.map { $0.id.rawValue.utf8.count + $0.name.utf8.count } ?? 0)
    }
    return tombstones.reduce((session ?? 0) + 64) {
      $0 + 256 + $1.session.rawValue.utf8.count + ($1.revocation?.secret.count ?? 0)
        + ($1.account?.rawValue.utf8.count ?? 0) + ($1.issuer?.utf8.count ?? 0)
        + $1.steps.reduce(0) { $0 + 8 + $1.utf8.count }
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
      case 1:
        session = StoredSession(fields: value)
        return session != nil
      case 2:
        guard let tombstone = Tombstone(fields: value) else { return false }
        tombstones.append(tombstone)
      case 3:
        var reader = FieldReader(value)
        guard let sequence = reader.number(UInt64.self), let code = reader.take(AuditCode.byteCount), reader.isAtEnd
        else { return false }
        auditHead = AuditCode(code).map { AuditHead(sequence: sequence, code: $0) }
      case 4:
        signIn = PendingSignIn(fields: value)
        return signIn != nil
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
      case 1:
        key = RotationKey(bytes: value)
        return key != nil
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
    let isSession = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1:
        id = FieldReader.text(value)
        return id != nil
      case 2:
        profile = Profile(fields: value)
        return profile != nil
      case 3: refresh = RefreshToken(Secret(bytes: value))
      case 4:
        pendingKey = RotationKey(bytes: value)
        return pendingKey != nil
      case 5: revocation = RevocationHandle(Secret(bytes: value))
      case 6:
        access = StoredAccess(fields: value)
        return access != nil
      case 7:
        startedAt = Moment(fields: value)
        return startedAt != nil
      case 8:
        activeAt = Moment(fields: value)
        return activeAt != nil
      case 9:
        attempt = RefreshAttempt(fields: value)
        return attempt != nil
      // A value of a later version counts as none: then no repeat is free.
      case 10: rotationKeys = (value.first.flatMap { RotationKeyUse(rawValue: $0) }) ?? .ignored
      case 11: isRotated = !value.elementsEqual([0])
      case 12:
        issuer = FieldReader.text(value)
        return issuer != nil
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
  }
}

extension Profile {
  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var id: String?
    var name: String?
    var isAnonymous = false
    let isProfile = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1:
        id = FieldReader.text(value)
        return id != nil
      case 2:
        name = FieldReader.text(value)
        return name != nil
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
      case 2:
        start = Moment(fields: value)
        return start != nil
      case 3:
        duration = Duration(fields: value)
        return duration != nil
      case 4: isCookies = value.elementsEqual([1])
      default: break
      }
      return true
    }
    // An incomplete lifetime is an error: a token without an end would be used for too long.
    guard isAccess, let secret, (start == nil) == (duration == nil) else { return nil }
    let lifetime = start.flatMap { start in duration.map { Lifetime(start: start, duration: $0) } }
    // Before field 4 existed, cookies were stored like a token, which contains no spaces.
    isCookies = isCookies || secret.withExposedBytes { $0.starts(with: "handstamp-jar 1\n".utf8) }
    self.init(isCookies ? .cookies(secret) : .accessToken(AccessToken(secret)), lifetime: lifetime)
  }
}

extension RefreshAttempt {
  fileprivate func write(to writer: inout FieldWriter) {
    writer.field(1) { since.write(to: &$0) }
    writer.field(2) { $0.number(sender.id) }
    for reading in readings { writer.field(3) { reading.write(to: &$0) } }
    if let first { writer.field(4) { first.write(to: &$0) } }
    if let limit { writer.field(5) { limit.write(to: &$0) } }
    if let startedAt = sender.startedAt, let namespace = sender.namespace {
      writer.field(6) {
        $0.number(startedAt)
        $0.number(namespace)
      }
    }
    if isOver { writer.field(7, [1]) }
    if carriesKey { writer.field(8, [1]) }
  }

  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var since: Moment?
    var process: Int32?
    var readings: [Moment] = []
    var first: Moment?
    var limit: Duration?
    var (startedAt, namespace): (UInt64?, UInt64?)
    var (isOver, carriesKey) = (false, false)
    let isAttempt = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1:
        since = Moment(fields: value)
        return since != nil
      case 2:
        var reader = FieldReader(value)
        process = reader.number()
        return process != nil && reader.isAtEnd
      case 3:
        guard let reading = Moment(fields: value) else { return false }
        readings.append(reading)
      case 4:
        first = Moment(fields: value)
        return first != nil
      case 5:
        limit = Duration(fields: value)
        return limit != nil
      case 6:
        var reader = FieldReader(value)
        (startedAt, namespace) = (reader.number(), reader.number())
        return namespace != nil && reader.isAtEnd
      case 7: isOver = value.elementsEqual([1])
      case 8: carriesKey = value.elementsEqual([1])
      default: break
      }
      return true
    }
    guard isAttempt, let since, let process else { return nil }
    self.init(
      since: since, sender: ProcessIdentity(id: process, startedAt: startedAt, namespace: namespace), first: first,
      limit: limit, carriesKey: carriesKey, isOver: isOver, readings: readings)
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
  }

  fileprivate init?(fields: UnsafeRawBufferPointer) {
    var session: String?
    var account: String?
    var steps: [String] = []
    var reason: EndReason?
    var endedAt: Moment?
    var revocation: RevocationHandle?
    var delay: DeliveryDelay?
    var issuer: String?
    let isTombstone = FieldReader.fields(fields) { tag, value in
      switch tag {
      case 1:
        session = FieldReader.text(value)
        return session != nil
      // A reason of a newer program: the session has ended all the same.
      case 2: reason = FieldReader.text(value).flatMap(EndReason.init(rawValue:)) ?? .rejected
      case 3:
        endedAt = Moment(fields: value)
        return endedAt != nil
      case 4: revocation = RevocationHandle(Secret(bytes: value))
      case 5:
        account = FieldReader.text(value)
        return account != nil
      case 6:
        guard let step = FieldReader.text(value) else { return false }
        steps.append(step)
      case 7:
        var reader = FieldReader(value)
        guard let attempts = reader.number(UInt32.self), let rest = reader.take(value.count - 4),
          let last = Moment(fields: rest)
        else { return false }
        delay = DeliveryDelay(attempts: Int(attempts), last: last)
      case 8:
        issuer = FieldReader.text(value)
        return issuer != nil
      default: break
      }
      return true
    }
    guard isTombstone, let session, let reason, let endedAt else { return nil }
    self.init(
      session: SessionID(session), reason: reason, endedAt: endedAt, revocation: revocation,
      account: account.map { AccountID($0) }, issuer: issuer, delay: delay, steps: steps)
  }
}
