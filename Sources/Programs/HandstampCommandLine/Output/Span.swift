#if Command
import ArgumentParser

/// A duration as typed on the command line: `500ms`, `60s`, `5m`, `12h`, `30d`.
package struct Span: ExpressibleByArgument, Hashable, Sendable {
  package var duration: Duration

  package init(_ duration: Duration) { self.duration = duration }

  package init?(argument: String) {
    let digits = argument.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits), number <= 1_000_000_000 else { return nil }
    switch argument.dropFirst(digits.count) {
    case "ms": duration = .milliseconds(number)
    case "s": duration = .seconds(number)
    case "m": duration = .seconds(number * 60)
    case "h": duration = .seconds(number * 3600)
    case "d": duration = .seconds(number * 86_400)
    default: return nil
    }
  }

  package var defaultValueDescription: String { duration == .zero ? "0 s" : duration.words }
}

extension Duration {
  /// For people: the two largest units, as in `9 min 12 s`.
  package var words: String {
    let (whole, attoseconds) = components
    let milliseconds = attoseconds / 1_000_000_000_000_000
    switch whole {
    case ..<1: return whole < 0 ? "0 s" : "\(milliseconds) ms"
    case ..<60: return "\(whole) s"
    case ..<3600: return "\(whole / 60) min" + (whole % 60 == 0 ? "" : " \(whole % 60) s")
    case ..<86_400: return "\(whole / 3600) h" + (whole / 60 % 60 == 0 ? "" : " \(whole / 60 % 60) min")
    default: return "\(whole / 86_400) d" + (whole / 3600 % 24 == 0 ? "" : " \(whole / 3600 % 24) h")
    }
  }
}
#endif
