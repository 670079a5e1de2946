#if Server
import Mustache

/// The value of a name in a template.
package enum PageValue: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
  /// Escaped by the template. An empty text counts as present; leave its name out instead.
  case text(String)
  /// `true`; for `false`, leave the name out.
  case flag
  case list([PageValue])
  case object(PageContext)

  package init(stringLiteral value: String) { self = .text(value) }

  /// As the renderer takes it: types of this file, whose protocols it finds several times faster than those of texts and dictionaries.
  var rendered: Any {
    switch self {
    case .text(let text): RenderedText(renderText: text)
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

  var rendered: any MustacheParent { RenderedContext(context: self) }
}

private struct RenderedContext: MustacheParent {
  let context: PageContext

  func child(named name: String) -> Any? { context[name]?.rendered }
}

private struct RenderedText: MustacheCustomRenderable, MustacheParent, MustacheTransformable {
  let renderText: String
  var isNull: Bool { false }

  func child(named name: String) -> Any? { nil }
  func transform(_ name: String) -> Any? { renderText.transform(name) }
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
