#if Server
import HandstampPages
import HandstampRegistry

extension PageWriter {
  /// A client in the texts of a page. The name of one that registered itself is its own choice, and every page says so.
  func app(_ id: String, named name: String, in language: String) -> PageContext {
    guard RegisteredClient.isID(id) else { return ["name": .text(name)] }
    let shown = text(PageText("app.registered", ["name": .text(name)]), in: language)
    return ["name": .text(shown), "registered": .flag]
  }

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
