/// A value in a server's JSON, as servers write it. One of another type than is asked for counts as missing.
package enum Member: Decodable, Sendable {
  case text(String)
  case flag(Bool)
  case whole(Int64)
  case fraction(Double)
  case list([String])
  case object([String: Member])
  case other

  package init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let text = try? value.decode(String.self) {
      self = .text(text)
    } else if let flag = try? value.decode(Bool.self) {
      self = .flag(flag)
    } else if let number = try? value.decode(Int64.self) {
      self = .whole(number)
    } else if let number = try? value.decode(Double.self) {
      self = .fraction(number)
    } else if let texts = try? value.decode([String].self) {
      self = .list(texts)
    } else if decoder.codingPath.count < Member.depth {
      self = (try? value.decode([String: Member].self)).map { .object($0) } ?? .other
    } else {
      self = .other
    }
  }

  /// An object in so many others is `other`: decoding takes the stack of a thread, which a server must not be able to exhaust.
  private static let depth = 16

  /// A text that is not empty.
  package var word: String? { if case .text(let text) = self, !text.isEmpty { text } else { nil } }

  /// A text that is not empty, or a whole number: nothing else identifies a user.
  package var identifier: String? { if case .whole(let number) = self { String(number) } else { word } }

  package var isTrue: Bool { if case .flag(true) = self { true } else { false } }

  /// A number, also one that is written as a text.
  package var number: Double? {
    switch self {
    case .whole(let number): Double(number)
    case .fraction(let number): number
    case .text(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
    case .flag, .list, .object, .other: nil
    }
  }

  package var list: [String]? { if case .list(let texts) = self { texts } else { nil } }
}
