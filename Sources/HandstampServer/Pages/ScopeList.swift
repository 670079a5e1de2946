#if Server
import HandstampPages
import HandstampRegistry

extension PageWriter {
  /// The permissions of a client, in words.
  func scopes(_ scope: String, of account: AccountRecord, in language: String) -> PageValue {
    .list(
      scope.split(separator: " ").map { name in
        let values: PageContext = ["email": .text(ifPresent: account.email?.typed), "scope": .text(String(name))]
        let key = "scope.\(name)"
        guard library.text(key, in: language) != nil else {
          return .object([
            "icon": "key", "title": .text(text(PageText("scope.other", values), in: language)),
          ])
        }
        return .object([
          "icon": .text(PageWriter.icon(ofScope: name)), "title": .text(text(PageText(key, values), in: language)),
          "text": .text(ifPresent: library.text(key + "_text", values, in: language)),
        ])
      })
  }

  private static func icon(ofScope name: Substring) -> String {
    switch name {
    case "openid": "person"
    case "profile": "person"
    case "email": "mail"
    case "groups": "person"
    case "offline_access": "clock"
    default: "key"
    }
  }
}
#endif
