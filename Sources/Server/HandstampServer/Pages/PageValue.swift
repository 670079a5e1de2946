#if Server
/// The value of a name in a template.
package enum PageValue: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
  /// Escaped by the template. An empty text counts as present; leave its name out instead.
  case text(String)
  /// `true`; for `false`, leave the name out.
  case flag
  case list([PageValue])
  case object(PageContext)

  package init(stringLiteral value: String) { self = .text(value) }

  /// As the renderer takes it.
  var rendered: Any {
    switch self {
    case .text(let text): text
    case .flag: true
    case .list(let values): values.map(\.rendered)
    case .object(let context): context.rendered
    }
  }
}

/// The values on a page, by name.
package struct PageContext: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  private var values: [String: PageValue]

  package init(dictionaryLiteral elements: (String, PageValue?)...) {
    values = [:]
    for (name, value) in elements { values[name] = value }
  }

  /// `nil` leaves a name out.
  package subscript(name: String) -> PageValue? {
    get { values[name] }
    set { values[name] = newValue }
  }

  /// Returns this context with the names of another one, which win.
  package func adding(_ other: PageContext) -> PageContext {
    var context = self
    context.values.merge(other.values) { $1 }
    return context
  }

  var rendered: [String: Any] { values.mapValues(\.rendered) }
}

extension PageValue {
  /// Returns `.flag` or `nil`.
  package static func flag(if condition: Bool) -> PageValue? { condition ? .flag : nil }

  /// Returns `nil` for `nil` and for an empty text.
  package static func text(ifPresent text: String?) -> PageValue? {
    text.flatMap { $0.isEmpty ? nil : .text($0) }
  }
}
#endif
