package import HandstampCore

/// A mail that is still to be written. It holds no secret: the account is looked up, and a one-time token issued, when it is sent.
package struct MailJob: StoredJob {
  package static let kind = StoredItem.Kind.mail

  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The address wants to set a new password. It may have no account.
    case reset
    /// The address wants an account. It may have one.
    case signUp = "sign-up"
    /// A guest wants the address for its account.
    case upgrade
    /// The owner of an account proves to read its mails: in a session, or beside a recovery code.
    case ownerProof = "owner-proof"
    case recovery
    /// An administrator has created an account for the address.
    case invitation
    /// An administrator tries whether mails arrive. No account has a part in it.
    case test
    case sessionsEnded = "sessions-ended"
    case newDevice = "new-device"
    case passwordChanged = "password-changed"
    case tokenTheft = "token-theft"
    /// An account wants the address instead of its own.
    case emailChange = "email-change"
    /// The owner of an account wants another address. It goes to the one that it has.
    case emailChanging = "email-changing"
    /// The address was that of an account.
    case emailChanged = "email-changed"
    case passkeyAdded = "passkey-added"
    case passkeyRemoved = "passkey-removed"
    case totpAdded = "totp-added"
    case totpRemoved = "totp-removed"
    case identityLinked = "identity-linked"
    case identityUnlinked = "identity-unlinked"
    case recoveryCodesMade = "recovery-codes-made"
    case recoveryCodeUsed = "recovery-code-used"

    /// The notice to an account; `nil` for a mail that an address asked for.
    package var notice: AccountNotice? {
      switch self {
      case .emailChange: nil
      case .emailChanging: .emailChange
      default: AccountNotice(rawValue: rawValue)
      }
    }
  }

  package let kind: Kind
  /// The address as it was typed; `nil` if the mail goes to that of ``account``.
  package var email: EmailAddress?
  /// The guest of an upgrade, or the account that a notice, an invitation or a change of the address is about.
  package var account: AccountID?
  /// The display name of a new account, or the ``NoticedName`` of a notice, with its client.
  package var name = ""
  /// As ``NoticedName/client``.
  package var client: String?
  /// The language to write in; `nil` for the one that the account's owner was last known to read.
  package var language: String?
  package var tries = JobTries()

  /// A mail that lets the address set a new password, if it has an account.
  package static func reset(_ email: EmailAddress) -> MailJob { MailJob(kind: .reset, email: email) }

  /// A mail that confirms an address, or says that it has an account.
  ///
  /// - Parameter guest: the account that becomes a full one; `nil` for a new account.
  package static func confirmation(_ email: EmailAddress, username: String, guest: AccountID? = nil) -> MailJob {
    MailJob(kind: guest == nil ? .signUp : .upgrade, email: email, account: guest, name: username)
  }

  /// A mail by which the owner of the account with that address proves to read it.
  package static func ownerProof(_ email: EmailAddress, isRecovery: Bool) -> MailJob {
    MailJob(kind: isRecovery ? .recovery : .ownerProof, email: email)
  }

  /// How long a mail that was not claimed is kept. A worker gives up long before.
  private static let memory = Duration.seconds(48 * 3600)

  /// The job as it is stored.
  ///
  /// - Parameter key: tells it from others of its kind.
  func item(subject: String = "", key: String, delay: Duration, now: UnixTime) -> StoredItem {
    StoredItem(
      id: StoredItemID(.mail, kind.rawValue, key), kind: .mail, subject: subject, payload: PayloadCoding.text(self),
      createdAt: now, dueAt: now.advanced(by: delay), expiresAt: now.advanced(by: MailJob.memory))
  }

  package mutating func giveUp() {}
}

extension MailJob {
  package var fields: [String: String?] {
    tries.fields.merging(
      [
        "kind": kind.rawValue, "email": email?.typed, "account": account?.rawValue, "name": name, "client": client,
        "language": language,
      ]) { $1 }
  }

  package init?(fields: [String: String]) {
    guard let kind = fields["kind"].flatMap({ Kind(rawValue: $0) }), let name = fields["name"],
      let tries = JobTries(fields: fields)
    else { return nil }
    self.init(
      kind: kind, email: fields["email"].flatMap { EmailAddress($0) }, account: fields["account"].map { AccountID($0) },
      name: name, client: fields["client"], language: fields["language"], tries: tries)
  }
}

package typealias ClaimedMail = ClaimedJob<MailJob>

/// The content and recipient of a mail.
package struct Letter: Sendable, Hashable {
  package enum Content: Sendable, Hashable {
    case reset(OneTimeToken)
    case confirmation(OneTimeToken)
    case emailChange(OneTimeToken)
    /// Proves that the owner reads the mails: in a session, or beside a recovery code.
    case ownerProof(OneTimeToken, isRecovery: Bool)
    /// The address is no longer that of the account, but this one.
    case emailChanged(String)
    /// The address that wants an account has one.
    case known
    /// Sets the first password of an account that an administrator has created.
    case invitation(OneTimeToken)
    case test
    /// Something happened to the account.
    case notice(AccountNotice, NoticedName, at: UnixTime)
  }

  package let to: EmailAddress
  package let content: Content
  /// Those to write in, as in `Accept-Language`; `nil` if none is known.
  package var language: String?

  /// - Parameter account: the one that the letter is about, whose owner may have chosen a language; `nil` for none.
  init(to: EmailAddress, content: Content, about account: AccountRecord?) {
    (self.to, self.content, language) = (to, content, account?.locale?.rawValue)
  }
}
