#if Operator
import Foundation
import HandstampCommandLine

/// How the value of a setting is read.
struct SettingParser<Value: Sendable>: Sendable {
  /// The valid values: completes the sentence `"x" is not`.
  let words: String
  let shape: SettingShape
  let hint: String
  let parse: @Sendable (String) -> Value?

  init(
    _ words: String, _ shape: SettingShape = .text, hint: String = "",
    _ parse: @escaping @Sendable (String) -> Value?
  ) {
    (self.words, self.shape, self.hint, self.parse) = (words, shape, hint, parse)
  }

  var optional: SettingParser<Value?> {
    SettingParser<Value?>(words, shape, hint: hint) { text in parse(text).map { .some($0) } }
  }

  static func choice(_ choices: [String: Value], _ shape: SettingShape = .text) -> Self {
    Self("one of \(choices.keys.sorted().joined(separator: ", "))", shape) { choices[$0] }
  }

  static func yesOrNo(_ yes: Value, _ no: Value) -> Self { choice(["yes": yes, "no": no], .yesOrNo) }

  static func list(_ words: String, _ parse: @escaping @Sendable ([String]) -> Value?) -> Self {
    Self(words, .list) { text in
      parse(
        text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) })
    }
  }
}

extension SettingParser where Value: RawRepresentable<String> & CaseIterable {
  static var choice: Self {
    Self("one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))") { Value(rawValue: $0) }
  }
}

extension SettingParser where Value == Bool {
  static var yesOrNo: Self { yesOrNo(true, false) }
}

extension SettingParser where Value == Int {
  static func number(in range: ClosedRange<Int>) -> Self {
    Self("a number from \(range.lowerBound) to \(range.upperBound)", .number) { text in
      Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
  }
}

extension SettingParser where Value == Duration {
  static func duration(upTo most: Duration = .seconds(3650 * 86_400)) -> Self {
    Self("a duration from 1s to \(most.words)", .duration, hint: "write it as 90s, 10m, 12h or 30d") { text in
      Span(argument: text).flatMap { $0.duration >= .seconds(1) && $0.duration <= most ? $0.duration : nil }
    }
  }
}

extension SettingParser where Value == String {
  static func text(_ words: String, where isValid: @escaping @Sendable (String) -> Bool) -> Self {
    Self(words) { isValid($0) ? $0 : nil }
  }

  /// Every text, because others check it, or there is no wrong one.
  static func anything(because _: StaticString, _ shape: SettingShape = .text) -> Self { Self("a text", shape) { $0 } }

  static var folder: Self {
    text("a folder", where: FileFacts.isFolder)
  }

  static var newFolder: Self {
    text("a folder, or a place for one") { FileFacts.ofFolder($0)?.isFolder == true }
  }

  /// The content of a file.
  static var content: Self {
    Self("a readable file") { path in
      FileManager.default.contents(atPath: path).flatMap { String(data: $0, encoding: .utf8) }
    }
  }
}
#endif
