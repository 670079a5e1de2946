#if Server
/// The name of a browser, for the list of devices: users can choose what the field says, and nothing relies on it.
struct BrowserName: Sendable, Hashable {
  let text: String

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
    let browser = first(BrowserName.browsers) ?? "A browser"
    text = first(BrowserName.systems).map { "\(browser) on \($0)" } ?? browser
  }
}
#endif
