/// A failure to read a page.
public enum ScrapeError: Error, Sendable, Hashable {
  /// A required part is missing, with its name.
  case missing(String)
}

/// A page that the forum returned instead of the requested one.
public enum ForumRefusal: Error, Sendable, Hashable {
  case databaseDown
  /// The forums are closed, with the forum's explanation.
  case closed(String)
  case banned(Ban)
  case mustRegister
  /// Any other refusal, with its title and text.
  case refused(title: String, text: String)
}
