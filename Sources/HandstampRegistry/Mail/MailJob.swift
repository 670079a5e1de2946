package import HandstampCore

/// A mail that is still to be written. It holds no secret: the account is looked up, and a one-time token issued, when it is sent.
package struct MailJob: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The address wants to set a new password. It may have no account.
    case reset
    /// The address wants an account. It may have one.
    case signUp = "sign-up"
    /// A guest wants the address for its account.
    case upgrade
  }

  package let kind: Kind
  /// The address as it was typed.
  package let email: EmailAddress
  /// The guest of an upgrade.
  package var guest: AccountID?
  /// The display name of a new account.
  package var username = ""
  /// How often it was claimed.
  package fileprivate(set) var attempts = 0
  /// Drawn by each claim, so that a worker whose lease has passed notices that another has the mail.
  fileprivate var lease = ""

  /// A mail that lets the address set a new password, if it has an account.
  package static func reset(_ email: EmailAddress) -> MailJob { MailJob(kind: .reset, email: email) }

  /// A mail that confirms an address, or says that it has an account.
  ///
  /// - Parameter guest: the account that becomes a full one; `nil` for a new account.
  package static func confirmation(_ email: EmailAddress, username: String, guest: AccountID? = nil) -> MailJob {
    MailJob(kind: guest == nil ? .signUp : .upgrade, email: email, guest: guest, username: username)
  }

  /// The same for every mail of this kind to this address, so that there is one at a time.
  var id: FactID { FactID(.mail, kind.rawValue, email.normalized) }

  func claimed(as lease: String) -> MailJob {
    var job = self
    job.attempts += 1
    job.lease = lease
    return job
  }
}

extension MailJob: StoredGrant {
  var fields: [String: String?] {
    [
      "kind": kind.rawValue, "email": email.typed, "guest": guest?.rawValue, "name": username,
      "attempts": String(attempts), "lease": lease,
    ]
  }

  init?(fields: [String: String]) {
    guard let kind = fields["kind"].flatMap({ Kind(rawValue: $0) }), let email = fields["email"],
      let email = EmailAddress(email), let attempts = fields["attempts"].flatMap({ Int($0) })
    else { return nil }
    self.init(
      kind: kind, email: email, guest: fields["guest"].map { AccountID($0) }, username: fields["name"] ?? "",
      attempts: attempts, lease: fields["lease"] ?? "")
  }
}

/// A mail that one worker may send until its lease passes.
package struct ClaimedMail: Sendable, Hashable {
  /// As it is stored.
  var fact: RegistryFact
  package let job: MailJob

  /// When it was asked for.
  package var createdAt: UnixTime { fact.createdAt }
}

/// What a mail has to say, and to whom.
package struct Letter: Sendable, Hashable {
  package enum Content: Sendable, Hashable {
    case reset(OneTimeToken)
    case confirmation(OneTimeToken)
    /// The address that wants an account has one.
    case known
  }

  package let to: EmailAddress
  package let content: Content
}
