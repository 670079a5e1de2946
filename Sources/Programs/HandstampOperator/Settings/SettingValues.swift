#if Operator
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport
import Yams

/// A value, as written, and where it comes from.
struct SettingValue: Sendable, Equatable {
  var text: String
  var place: String
}

/// The values of the settings from flags, the environment and a file, in this order of precedence.
struct SettingValues<Group: SettingGroup>: Sendable {
  private var values: [String: SettingValue] = [:]

  init(flags: [String: String] = [:], environment: [String: String]) {
    for setting in Group.all {
      if let text = flags[setting.name] {
        values[setting.name] = SettingValue(text: text, place: "--\(setting.name)")
      } else if let text = environment[setting.variable] {
        values[setting.name] = SettingValue(text: setting.shape.text(.string(text)) ?? text, place: setting.variable)
      }
    }
  }

  /// - Parameter file: a JSON object, or with a name that ends in `.yaml` or `.yml` a mapping in YAML.
  init(flags: [String: String], environment: [String: String], file: String?) throws(CommandError) {
    let known = Group.all.map(\.variable)
    for name in environment.keys.sorted() where name.hasPrefix(Group.prefix) && !known.contains(name) {
      throw CommandError(
        .usage, "unknown setting \(name)", hint: NearestName.hint(for: name, among: known, in: Group.help))
    }
    self.init(flags: flags, environment: environment)
    if let file { values.merge(try SettingValues.values(inFile: file)) { given, _ in given } }
  }

  /// A test compares the names in the sources with the settings.
  subscript(_ name: String) -> SettingValue? { values[name] }

  /// Names the source and the value in a refusal.
  func refusal(_ name: String, _ words: String) -> CommandError {
    CommandError(
      .usage, "\(self[name]?.place ?? "--\(name)"): \"\(self[name]?.text ?? "")\" is not \(words)",
      hint: Group.hint(of: name))
  }

  /// Returns the secret: from its variable, or from the file that its other setting names.
  func secret(_ name: String) throws(CommandError) -> Secret? {
    let value = self[name]
    guard let file = self["\(name)-file"] else { return value.map { Secret($0.text) } }
    if let value {
      throw CommandError(.usage, "\(value.place) and \(file.place) cannot be combined", hint: "drop one of them")
    }
    var content = FileManager.default.contents(atPath: file.text) ?? Data()
    while content.last == 10 || content.last == 13 { content.removeLast() }
    guard !content.isEmpty else {
      throw CommandError(
        .usage, "\(file.place): cannot read a secret in \(file.text)", hint: Group.hint(of: "\(name)-file"))
    }
    return Secret(bytes: content)
  }

  /// Returns the members of a JSON object, none of which may be repeated.
  private static func object(json: Data) -> [String: JSONValue]? {
    if case .object(let members)? = JSONValue(Array(json)) { members } else { nil }
  }

  /// Returns the members of a mapping, as texts and lists of texts.
  private static func mapping(yaml: String) -> [String: JSONValue]? {
    guard let mapping = (try? Yams.compose(yaml: yaml))?.mapping else { return nil }
    var members: [String: JSONValue] = [:]
    for (key, value) in mapping {
      members[key.string ?? ""] =
        if let text = value.scalar?.string {
          .string(text)
        } else if let list = value.sequence {
          // An item that is no text is refused, as in JSON.
          .array(list.map { $0.string.map { .string($0) } ?? .null })
        } else {
          // A mapping, which no setting takes.
          .object([:])
        }
    }
    return members
  }

  private static func values(inFile path: String) throws(CommandError) -> [String: SettingValue] {
    guard let content = FileManager.default.contents(atPath: path) else {
      throw CommandError(.usage, "--config: cannot read \(path)", hint: "name a readable file in JSON or YAML")
    }
    let isYAML = path.hasSuffix(".yaml") || path.hasSuffix(".yml")
    let members =
      isYAML
      ? mapping(yaml: String(decoding: content, as: UTF8.self))
      : object(json: content)
    guard let members else {
      throw isYAML
        ? CommandError(
          .usage, "--config: \(path) is not a mapping in YAML", hint: "write it as data: /var/lib/handstamp")
        : CommandError(
          .usage, "--config: \(path) is not a JSON object", hint: #"write it as {"data": "/var/lib/handstamp"}"#)
    }
    let known = Group.all.filter { !$0.isSecret }
    for name in members.keys.sorted() where !known.contains(where: { $0.name == name }) {
      if Group.all.contains(where: { $0.name == name }) {
        throw CommandError(.usage, "\(path): \(name) is a secret", hint: "use \(name)-file instead")
      }
      throw CommandError(
        .usage, "\(path): unknown setting \(name)",
        hint: NearestName.hint(for: name, among: known.map(\.name), in: Group.help))
    }
    var values: [String: SettingValue] = [:]
    for setting in known {
      guard let member = members[setting.name], member != .null else { continue }
      guard let text = setting.shape.text(member) else {
        throw CommandError(.usage, "\(path), \(setting.name) must be \(setting.shape.words)", hint: setting.hint)
      }
      values[setting.name] = SettingValue(text: text, place: "\(path), \(setting.name)")
    }
    return values
  }
}

extension SettingShape {
  private static let words = [
    "true": "yes", "yes": "yes", "on": "yes", "1": "yes", "false": "no", "no": "no", "off": "no", "0": "no",
  ]

  /// Returns the value of a variable, or a member of a file, as it would be written in a flag; `nil` if it has another type.
  fileprivate func text(_ member: JSONValue) -> String? {
    switch (self, member) {
    case (.yesOrNo, .bool(let isSet)): isSet ? "yes" : "no"
    case (.yesOrNo, .string(let text)): SettingShape.words[text.lowercased()] ?? text
    case (_, .string(let text)): text
    case (.yesOrNo, .integer), (.yesOrNo, .number):
      member.integer.map { SettingShape.words["\($0)"] ?? "\($0)" }
    case (.number, .integer), (.number, .number): member.integer.map { "\($0)" }
    case (.list, .array(let list)) where list.allSatisfy { $0.string != nil }:
      list.compactMap(\.string).joined(separator: ",")
    default: nil
    }
  }

  fileprivate var words: String {
    switch self {
    case .text, .secret: "a string"
    case .duration: "a string such as 10m"
    case .number: "a number"
    case .yesOrNo: "yes or no"
    case .list: "a list of strings"
    }
  }
}
#endif
