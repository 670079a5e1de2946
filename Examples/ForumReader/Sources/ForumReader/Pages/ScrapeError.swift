/// Why a page could not be read.
public enum ScrapeError: Error, Sendable, Hashable {
  /// A required part is not there; its name.
  case missing(String)
}

/// What a page says instead of what was asked for.
public enum ForumRefusal: Error, Sendable, Hashable {
  case databaseDown
  /// The forums are closed; what they say about it.
  case closed(String)
  case banned(Ban)
  case mustRegister
  /// Any other refusal: its title and text.
  case refused(title: String, text: String)
}
