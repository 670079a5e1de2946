#if Server
import HandstampRegistry

extension PageWriter {
  /// A client in the texts of a page.
  func app(_ id: String, named name: String, in language: String) -> PageContext {
    let shown: PageValue = .text(appName(id, named: name, in: language))
    return RegisteredClient.isID(id) ? ["name": shown, "registered": .flag] : ["name": shown]
  }

  /// Returns the name of a client. That of one that registered itself is its own choice, and every page says so.
  func appName(_ id: String, named name: String, in language: String) -> String {
    RegisteredClient.isID(id) ? text(PageText("app.registered", ["name": .text(name)]), in: language) : name
  }

  /// Returns the name by which pages show a session: that of its client, or that of its device.
  func sessionName(_ row: SessionRow, in language: String) -> String {
    sessionName(device: row.device.name, client: row.client?.id, in: language)
  }

  /// - Parameters:
  ///   - device: the name that is stored for the session.
  ///   - client: the ID of its client, which has chosen that name; `nil` for a browser and the server's own app.
  func sessionName(device: String, client: String?, in language: String) -> String {
    if let client { return appName(client, named: device.isEmpty ? client : device, in: language) }
    return device.isEmpty ? "–" : deviceName(device, client: client, in: language)
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
