#if Command
import Configuration
import Foundation
import HandstampCore
import SystemPackage
import Yams

/// A value, as written, and where it comes from.
struct SettingValue: Sendable, Equatable {
  var text: String
  var place: String
}

/// The values of the settings from flags, the environment and a file, in this order of precedence.
struct SettingValues: Sendable {
  private var values: [ServeSetting: SettingValue] = [:]

  /// - Parameter file: a JSON object, or with a name that ends in `.yaml` or `.yml` a mapping in YAML.
  init(flags: [ServeSetting: String], environment: [String: String], file: String?) async throws(Refusal) {
    guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, *) else {
      throw Refusal(.usage, "serving needs macOS 15 or later", hint: "run the server on Linux or a later macOS")
    }
    try SettingValues.check(namesIn: environment)
    var sources = [
      Source(
        InMemoryProvider(
          name: "flags",
          values: Dictionary(
            uniqueKeysWithValues: flags.map { (AbsoluteConfigKey([$0.rawValue]), .init(.string($1), isSecret: false)) })
        ), { $0.flag }),
      Source(
        EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "handstamp.serve"),
        { $0.variable }),
    ]
    if let file { sources.append(try await SettingValues.source(inFile: file)) }
    for setting in ServeSetting.allCases {
      for source in sources {
        guard let text = try source.text(of: setting) else { continue }
        values[setting] = SettingValue(text: text, place: source.place(setting))
        break
      }
    }
  }

  subscript(_ setting: ServeSetting) -> SettingValue? { values[setting] }

  /// Returns the secret: from its variable, or from the file that its other setting names.
  func secret(_ setting: ServeSetting) throws(Refusal) -> Secret? {
    guard let inFile = setting.inFile, let file = values[inFile] else { return values[setting].map { Secret($0.text) } }
    return try SettingValues.content(
      of: file.text, named: inFile, text: values[setting]?.text, setting, file.place)
  }

  private static func check(namesIn environment: [String: String]) throws(Refusal) {
    let known = ServeSetting.allCases.map(\.variable)
    for name in environment.keys.sorted() where name.hasPrefix(ServeSetting.prefix) && !known.contains(name) {
      throw Refusal(.usage, "unknown setting \(name)", hint: NearestName.hint(for: name, among: known))
    }
  }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, *)
extension SettingValues {
  /// One of the sources.
  private struct Source {
    let provider: any ConfigProvider
    let place: (ServeSetting) -> String

    init(_ provider: any ConfigProvider, _ place: @escaping (ServeSetting) -> String) {
      self.provider = provider
      self.place = place
    }

    /// Returns the value as it would be written in a flag.
    func text(of setting: ServeSetting) throws(Refusal) -> String? {
      let key = AbsoluteConfigKey([setting.rawValue])
      for type in setting.facts.shape.types {
        do {
          guard let value = try provider.value(forKey: key, type: type).value else { return nil }
          if let text = value.content.text { return text }
        } catch {
          // Of another type.
        }
      }
      throw Refusal(.usage, "\(place(setting)) must be \(setting.facts.shape.words)", hint: setting.hint)
    }
  }

  private static func source(inFile path: String) async throws(Refusal) -> Source {
    guard let content = FileManager.default.contents(atPath: path) else {
      throw Refusal(.usage, "--config: cannot read \(path)", hint: "name a readable file in JSON or YAML")
    }
    let isYAML = path.hasSuffix(".yaml") || path.hasSuffix(".yml")
    let object: Any?
    let provider: any ConfigProvider
    do {
      if isYAML {
        object = try Yams.load(yaml: String(decoding: content, as: UTF8.self))
        provider = try await FileProvider<YAMLSnapshot>(filePath: FilePath(path))
      } else {
        object = try JSONSerialization.jsonObject(with: content)
        provider = try await FileProvider<JSONSnapshot>(filePath: FilePath(path))
      }
    } catch {
      throw unusable(path, isYAML)
    }
    guard let members = object as? [String: Any] else { throw unusable(path, isYAML) }
    let known = ServeSetting.allCases.filter { !$0.isSecret }.map(\.rawValue)
    for name in members.keys.sorted() where !known.contains(name) {
      if let secret = ServeSetting(rawValue: name) {
        throw Refusal(
          .usage, "\(path): \(name) is a secret",
          hint: "use \(secret.inFile?.rawValue ?? secret.variable) instead")
      }
      throw Refusal(.usage, "\(path): unknown setting \(name)", hint: NearestName.hint(for: name, among: known))
    }
    // A member of its own to the provider, which would not find the setting.
    for setting in ServeSetting.allCases where members[setting.rawValue] is [AnyHashable: Any] {
      throw Refusal(
        .usage, "\(path), \(setting.rawValue) must be \(setting.facts.shape.words)", hint: setting.hint)
    }
    return Source(provider) { "\(path), \($0.rawValue)" }
  }

  private static func unusable(_ path: String, _ isYAML: Bool) -> Refusal {
    isYAML
      ? Refusal(.usage, "--config: \(path) is not a mapping in YAML", hint: "write it as data: /var/lib/handstamp")
      : Refusal(
        .usage, "--config: \(path) is not a JSON object", hint: #"write it as {"data": "/var/lib/handstamp"}"#)
  }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, *)
extension ServeSetting.Shape {
  /// The types that a source may have it in; the first that fits.
  fileprivate var types: [ConfigType] {
    switch self {
    case .text, .duration, .secret: [.string]
    case .number: [.int, .string]
    case .yesOrNo: [.bool, .string]
    case .list: [.stringArray, .string]
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

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, *)
extension ConfigContent {
  fileprivate var text: String? {
    switch self {
    case .string(let text): text
    case .int(let number): String(number)
    case .bool(let isSo): isSo ? "yes" : "no"
    case .stringArray(let list): list.joined(separator: ",")
    case .double, .bytes, .intArray, .doubleArray, .boolArray, .byteChunkArray: nil
    }
  }
}
#endif
