#if Server
import HandstampCore
import HandstampRegistry

extension PasswordPolicy.Weakness {
  /// The words beside the field of a new password.
  func text(least: Int) -> PageText {
    switch self {
    case .tooShort: PageText("field_error.password_short", ["password_least": .text(String(least))])
    case .tooLong: PageText("field_error.password_long", ["most": .text(String(PasswordPolicy.most))])
    case .common: "field_error.password_common"
    case .context: "field_error.password_context"
    case .breached: "field_error.password_breached"
    case .uncheckable: "field_error.password_uncheckable"
    }
  }
}

extension PasswordPolicy {
  /// The least length, for a page.
  var shownLeast: PageValue { .text(String(minimumLength)) }
}

extension FormFields {
  /// A password in the form; `nil` if it is empty.
  func password(_ name: String) -> Secret? { self[name].map { Secret($0) } }
}

/// An address as typed in a form.
enum TypedAddress: Sendable {
  case good(EmailAddress)
  case bad(PageText)

  init(_ text: String?) {
    guard let text else {
      self = .bad("field_error.email_missing")
      return
    }
    guard let email = EmailAddress(new: text), Mailbox(email) != nil else {
      self = .bad("field_error.email_invalid")
      return
    }
    self = .good(email)
  }
}
#endif
