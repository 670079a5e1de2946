#if Server
import Crypto
import Foundation
import HandstampSupport
import HTTPTypes
import HandstampCore
import HandstampPages
import HandstampRegistry
import Hummingbird

/// A browser's request to the server's pages.
struct BrowserRequest: Sendable {
  /// `nil` if the browser is not signed in.
  var web: BrowserSession?
  /// A session whose user may only set up a new factor, on the page for that; any other takes the browser as not signed in.
  var recovering: BrowserSession?
  /// The cookie of the session as received, valid or not.
  var session: Secret?
  /// The name of the provider where the browser's session ended; `nil` if it did not end so.
  var providerOfEnd: String?
  /// The cookie that recognizes this browser at its next sign-in; a new one if the request had none.
  var device: String
  /// The browser's name for itself, such as "Firefox on Linux".
  var name: String
  /// The cookie that forms are tied to; a new one if the request had none.
  var formCookie: String
  var isFormCookieNew: Bool
  /// The language and the address of the page.
  var place: PageReader
  var caller: AccountService.Caller
  /// The parameters in the address.
  var query: FormFields?
  /// The submitted form; `nil` unless the request is a POST.
  var form: FormFields?

  /// The browser as a device of an account.
  var browser: DeviceInfo { DeviceInfo(id: DeviceID("browser " + device), name: name, platform: "web") }

  /// The signed-in account; `nil` if the browser is not signed in.
  var account: AccountRecord? { web?.account }

  /// The button that was pressed; of a form that was sent without one, as password managers do, the one that it is for.
  var action: String? { form?["action"] ?? form?["main"] }

  /// Whether the form signs in.
  var signsIn: Bool { ["sign-in", "passkey", "provider", "second-factor"].contains(action) }

  /// The CSRF token of this browser's forms. It depends on both cookies: other sites can neither read them nor set cookies with
  /// these names for this host.
  var token: String {
    let session = session?.withExposed { $0 } ?? ""
    return Base64URL.encode(SHA256.hash(data: Array("handstamp form \(formCookie) \(session)".utf8)))
  }

  /// The reader of the response.
  var reader: PageReader {
    var reader = place
    reader.token = token
    reader.person = account?.shownName
    return reader
  }

  var cookies: [ResponseCookie] {
    isFormCookieNew ? [ResponseCookie(name: ResponseCookie.form, value: formCookie)] : []
  }
}

extension AccountRecord {
  /// The name of the account as shown to its owner.
  var shownName: String { username.isEmpty ? email?.typed ?? "" : username }

  /// The signed-in user, on a page.
  var person: PageValue {
    .object(["name": .text(shownName), "email": .text(ifPresent: email?.typed)])
  }
}
#endif
