#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry

extension PasswordPolicy {
  /// Returns what a page says beside the field of a new password; `nil` if it is accepted.
  func pageError(_ password: Secret?, of email: EmailAddress?, _ name: String) -> PageText? {
    guard let password else { return "field_error.password_missing" }
    do throws(Fault) {
      try check(password, names: [email?.normalized ?? "", name])
      return nil
    } catch {
      switch error {
      case .tooShort:
        return PageText("field_error.password_short", ["password_least": .text(String(minimumLength))])
      case .tooLong: return PageText("field_error.password_long", ["most": .text(String(PasswordPolicy.most))])
      case .common: return "field_error.password_common"
      case .context: return "field_error.password_context"
      case .breached: return "field_error.password_breached"
      case .uncheckable: return "field_error.password_uncheckable"
      }
    }
  }

  /// The least length, for a page.
  var shownLeast: PageValue { .text(String(minimumLength)) }
}

extension FormBody {
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
    guard let email = EmailAddress(composed: text), Mailbox(email) != nil else {
      self = .bad("field_error.email_invalid")
      return
    }
    self = .good(email)
  }
}
#endif
