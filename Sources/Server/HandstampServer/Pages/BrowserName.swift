#if Server
/// The name of a browser, for the list of devices: users can choose what the field says, and nothing relies on it.
struct BrowserName: Sendable, Hashable {
  /// In English, as it is stored; pages and mails show ``PageWriter/deviceName(_:client:in:)``.
  let text: String

  private static let unknown = "A browser"
  /// The mark of each browser, those first that also carry the marks of others.
  private static let browsers = [
    ("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet"), ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"), ("Chromium/", "Chromium"), ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
  ]
  private static let systems = [
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"), ("Windows", "Windows"),
    ("Mac OS X", "macOS"), ("Linux", "Linux"),
  ]

  init(userAgent: String) {
    let known = userAgent.prefix(512)
    func first(_ marks: [(mark: String, name: String)]) -> String? { marks.first { known.contains($0.mark) }?.name }
    let browser = first(BrowserName.browsers) ?? BrowserName.unknown
    text = first(BrowserName.systems).map { "\(browser) on \($0)" } ?? browser
  }

  /// The key and the values of the text for a stored name; `nil` for one that an app or a user has chosen.
  fileprivate static func words(for name: String) -> PageText? {
    if name == unknown { return "device.unknown" }
    guard let system = systems.first(where: { name.hasSuffix(" on \($0.1)") })?.1 else { return nil }
    let browser = String(name.dropLast(" on \(system)".count))
    if browser == unknown { return PageText("device.unknown_on", ["system": .text(system)]) }
    guard browsers.contains(where: { $0.1 == browser }) else { return nil }
    return PageText("device.browser_on", ["browser": .text(browser), "system": .text(system)])
  }
}

extension PageWriter {
  /// Returns the name of a device in the reader's language. A client has chosen its name itself, in whatever words.
  ///
  /// - Parameter client: the ID of the client whose name it is; `nil` for a device.
  func deviceName(_ name: String, client: String?, in language: String) -> String {
    guard client == nil, let words = BrowserName.words(for: name) else { return name }
    return text(words, in: language)
  }
}
#endif
