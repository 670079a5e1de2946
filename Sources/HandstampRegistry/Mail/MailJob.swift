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
    case newDevice = "new-device"
    case passwordChanged = "password-changed"
    case tokenTheft = "token-theft"

    /// What an account is told of; `nil` for a mail that an address asked for.
    package var notice: AccountNotice? {
      switch self {
      case .reset, .signUp, .upgrade: nil
      case .newDevice: .newDevice
      case .passwordChanged: .passwordChanged
      case .tokenTheft: .tokenTheft
      }
    }
  }

  package let kind: Kind
  /// The address as it was typed; `nil` if the mail goes to that of ``account``.
  package var email: EmailAddress?
  /// The guest of an upgrade, or the account of a notice.
  package var account: AccountID?
  /// The display name of a new account, or that of the device that a notice is about.
  package var name = ""
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
    MailJob(kind: guest == nil ? .signUp : .upgrade, email: email, account: guest, name: username)
  }

  static func notice(_ notice: AccountNotice, of account: AccountID, device: String) -> MailJob {
    let kind: Kind =
      switch notice {
      case .newDevice: .newDevice
      case .passwordChanged: .passwordChanged
      case .tokenTheft: .tokenTheft
      }
    return MailJob(kind: kind, account: account, name: device)
  }

  /// How long a mail that was not claimed is kept. A worker gives up long before.
  private static let memory = Duration.seconds(48 * 3600)

  /// The job as it is stored.
  ///
  /// - Parameter key: tells it from others of its kind.
  func fact(subject: String = "", key: String, delay: Duration, now: UnixTime) -> RegistryFact {
    RegistryFact(
      id: FactID(.mail, kind.rawValue, key), kind: .mail, subject: subject, payload: GrantCoding.text(self),
      createdAt: now, dueAt: now.advanced(by: delay), expiresAt: now.advanced(by: MailJob.memory))
  }

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
      "kind": kind.rawValue, "email": email?.typed, "account": account?.rawValue, "name": name,
      "attempts": String(attempts), "lease": lease,
    ]
  }

  init?(fields: [String: String]) {
    guard let kind = fields["kind"].flatMap({ Kind(rawValue: $0) }),
      let attempts = fields["attempts"].flatMap({ Int($0) })
    else { return nil }
    self.init(
      kind: kind, email: fields["email"].flatMap { EmailAddress($0) }, account: fields["account"].map { AccountID($0) },
      name: fields["name"] ?? "", attempts: attempts, lease: fields["lease"] ?? "")
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
    /// Something happened to the account.
    ///
    /// - Parameter device: the name that the device gave itself, or an empty text.
    case notice(AccountNotice, device: String, at: UnixTime)
  }

  package let to: EmailAddress
  package let content: Content
}
