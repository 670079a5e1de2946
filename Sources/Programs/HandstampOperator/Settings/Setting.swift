#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampSupport

/// The settings of a command.
protocol SettingGroup: Sendable {
  /// Begins the names of their variables.
  static var prefix: String { get }
  /// Prints help.
  static var help: String { get }
  /// Every setting, in the order of help.
  static var all: [Setting<Self>] { get }
}

extension SettingGroup {
  static func hint(of name: String) -> String { all.first { $0.name == name }?.hint ?? "" }
}

/// How a value is written, in a file and elsewhere.
enum SettingShape: Sendable {
  case text, number, duration, yesOrNo
  /// Separated by commas; in a file also a list.
  case list
  /// A secret: only a variable, or a file of its own, whose path is the setting with `-file` behind the name.
  case secret
}

/// A setting of a command. It is declared once, in ``SettingGroup/all``, and has one name everywhere: `tls-key` of `handstamp-server serve`
/// is the flag `--tls-key`, the variable `HANDSTAMP_SERVE_TLS_KEY`, and the member `tls-key` of the configuration file.
struct Setting<Group: SettingGroup>: Sendable {
  let name: String
  let about: String
  /// The default, in words; empty if the setting is off without a value.
  let fallback: String
  /// Valid values.
  let hint: String
  let shape: SettingShape
  /// Whether a running server keeps the previous value when it is told to reload.
  let needsRestart: Bool
  /// For tests alone.
  let isHidden: Bool
  /// Whether the value is the path of a file that says what the server does.
  let isPath: Bool
  let apply: @Sendable (SettingValues<Group>, inout Group) throws(CommandError) -> Void

  /// Declares a setting that is read by `apply`, or together with others, such as a name and its password.
  ///
  /// - Parameter parser: what the setting refuses by itself. One that refuses nothing says why: ``SettingParser/anything(because:_:)``.
  init<Value: Sendable>(
    _ name: String, _ about: String, unset fallback: String = "", hint: String, needsRestart: Bool = false,
    isHidden: Bool = false, isPath: Bool = false, _ parser: SettingParser<Value>,
    apply: @escaping @Sendable (SettingValues<Group>, inout Group) throws(CommandError) -> Void = { _, _ in }
  ) {
    self.init(
      name, about, unset: fallback, hint: hint, needsRestart: needsRestart, isHidden: isHidden, isPath: isPath,
      parsing: parser
    ) { _, values, settings throws(CommandError) in try apply(values, &settings) }
  }

  /// - Parameters:
  ///   - text: the default, as it would be written.
  ///   - apply: gets the value, which is parsed once, because the file that it names may change; `nil` if there is none.
  private init<Value: Sendable>(
    _ name: String, _ about: String, default text: String? = nil, unset fallback: String, hint: String,
    needsRestart: Bool, isHidden: Bool, isPath: Bool, parsing parser: SettingParser<Value>,
    apply: @escaping @Sendable (Value?, SettingValues<Group>, inout Group) throws(CommandError) -> Void
  ) {
    (self.name, self.about, self.fallback, self.hint, shape) = (name, about, text ?? fallback, hint, parser.shape)
    (self.needsRestart, self.isHidden, self.isPath) = (needsRestart, isHidden, isPath)
    self.apply = { values, settings throws(CommandError) in
      guard let given = values[name] else { return try apply(text.flatMap(parser.parse), values, &settings) }
      guard !given.text.allSatisfy(\.isWhitespace), given.text.isPrintable || parser.shape == .secret else {
        throw CommandError(.usage, "\(given.place) is blank, or has control characters", hint: hint)
      }
      guard let value = parser.parse(given.text) else { throw values.refusal(name, parser.words) }
      try apply(value, values, &settings)
    }
  }

  /// - Parameters:
  ///   - text: the default, as it would be written.
  ///   - fallback: the default in words, if the initial value of `place` is the default.
  init<Value: Sendable>(
    _ name: String, _ about: String, default text: String? = nil, unset fallback: String = "", hint: String? = nil,
    needsRestart: Bool = false, isHidden: Bool = false, isPath: Bool = false, _ parser: SettingParser<Value>,
    to place: any WritableKeyPath<Group, Value> & Sendable
  ) {
    self.init(
      name, about, default: text, unset: fallback, hint: hint ?? parser.hint, needsRestart: needsRestart,
      isHidden: isHidden, isPath: isPath, parsing: parser
    ) { value, _, settings throws(CommandError) in
      if let value { settings[keyPath: place] = value }
    }
  }

  init<Value: Sendable>(
    _ name: String, _ about: String, default text: String? = nil, unset fallback: String = "", hint: String? = nil,
    needsRestart: Bool = false, isHidden: Bool = false, isPath: Bool = false, _ parser: SettingParser<Value>,
    to place: any WritableKeyPath<Group, Value?> & Sendable
  ) {
    self.init(
      name, about, default: text, unset: fallback, hint: hint ?? parser.hint, needsRestart: needsRestart,
      isHidden: isHidden, isPath: isPath, parser.optional, to: place)
  }

  var variable: String { Group.prefix + name.uppercased().replacingOccurrences(of: "-", with: "_") }
  var isSecret: Bool { shape == .secret }
}

/// Collects declarations; each is type-checked by itself.
@resultBuilder enum SettingList {
  static func buildBlock<Group>(_ settings: Setting<Group>...) -> [Setting<Group>] { settings }
}

/// A flag for each setting, found by ArgumentParser as it finds properties: by reflection, and by decoding.
struct SettingFlags<Group: SettingGroup>: ParsableArguments, CustomReflectable {
  private(set) var texts: [String: String] = [:]

  private static var settings: [Setting<Group>] { Group.all.filter { !$0.isSecret } }

  init() {}

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: MemberName.self)
    for setting in SettingFlags.settings {
      let option = try container.decode(Option<String?>.self, forKey: MemberName(stringValue: setting.name))
      texts[setting.name] = option.wrappedValue
    }
  }

  var customMirror: Mirror {
    let options = SettingFlags.settings.map { setting -> Mirror.Child in
      let fallback = setting.fallback.isEmpty ? "" : " (default: \(setting.fallback))"
      let help = setting.isHidden ? .hidden : ArgumentHelp(stringLiteral: setting.about + fallback)
      return (setting.name, Option<String?>(name: .customLong(setting.name), help: help))
    }
    return Mirror(self, children: options)
  }
}

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
