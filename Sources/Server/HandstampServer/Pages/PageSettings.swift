#if Server
/// How the server's own pages look.
public struct PageSettings: Sendable, Hashable {
  /// A link in the footer.
  public struct Link: Sendable, Hashable {
    public var text: String
    public var address: String

    public init(text: String, address: String) {
      self.text = text
      self.address = address
    }
  }

  /// An image, shown as it is.
  public struct Image: Sendable, Hashable {
    public var bytes: [UInt8]
    /// Its media type, such as `image/svg+xml`.
    public var type: String

    public init(bytes: [UInt8], type: String) {
      self.bytes = bytes
      self.type = type
    }
  }

  /// The name of the service. `nil` uses the issuer's host.
  public var name: String?
  public var logo: Image?
  /// The color of buttons and links, as `#rrggbb`. Where it is hard to read, a darker or lighter one is used (WCAG 2.2 section
  /// 1.4.3). `nil` uses the pages' own.
  public var accent: String?
  public var links: [Link] = []
  /// A folder with templates, texts, `pages.css` or `pages.js` that replace those of the same name, and with texts in further
  /// languages, such as `fr.json`.
  public var folder: String?

  public init() {}
}
#endif
