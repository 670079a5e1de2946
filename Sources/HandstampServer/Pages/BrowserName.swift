#if Server
import HandstampPages

/// The name of a browser, for the list of devices: users can choose what the field says, and nothing relies on it.
struct BrowserName: Sendable, Hashable {
  /// In English, as it is stored; pages and mails show ``PageWriter/deviceName(_:in:)``.
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
  static func words(for name: String) -> PageText? {
    if name == unknown { return "device.unknown" }
    guard let system = systems.first(where: { name.hasSuffix(" on \($0.1)") })?.1 else { return nil }
    let browser = String(name.dropLast(" on \(system)".count))
    if browser == unknown { return PageText("device.unknown_on", ["system": .text(system)]) }
    guard browsers.contains(where: { $0.1 == browser }) else { return nil }
    return PageText("device.browser_on", ["browser": .text(browser), "system": .text(system)])
  }
}

extension PageWriter {
  /// Returns the name of a device in the reader's language.
  func deviceName(_ name: String, in language: String) -> String {
    BrowserName.words(for: name).map { text($0, in: language) } ?? name
  }
}
#endif
