#if Operator
import Foundation
import HandstampCommandLine
import HandstampRegistry
import HandstampSupport

/// A JSON file with a list of objects, which commands change and the server reads. It has no secrets.
struct ListFile {
  enum Kind: String {
    case clients, providers

    var hint: String {
      switch self {
      case .clients: ClientFile.hint
      case .providers: ProviderFile.hint
      }
    }
  }

  let path: String
  let kind: Kind
  private var option: String { "--\(kind)" }

  init(_ kind: Kind, at path: String) { (self.kind, self.path) = (kind, path) }

  /// The file that an option names, or else the server's variable.
  init(_ kind: Kind, named name: String?) throws(CommandError) {
    let name = name ?? ProcessInfo.processInfo.environment[ServeSettings.prefix + kind.rawValue.uppercased()]
    guard let name, !name.isEmpty else {
      throw CommandError(
        .usage, "missing file with the \(kind)", hint: "add --\(kind) FILE, as for handstamp-server serve")
    }
    self.init(kind, at: name)
  }

  func refusal(_ words: String) -> CommandError { CommandError(.usage, "\(path): \(words)", hint: kind.hint) }

  /// Returns the entries as the server reads them, with the objects that they are made of.
  ///
  /// - Parameters:
  ///   - names: the members that an entry may have.
  ///   - given: an entry to read instead of the file's.
  func entries<Entry: Decodable>(
    _ type: Entry.Type, names: Set<String>, given: [String: Any]? = nil
  ) throws(CommandError) -> [(Entry, [String: Any])] {
    let content: Data?
    if let given { content = try? JSONSerialization.data(withJSONObject: [given]) } else { content = try read()?.0 }
    guard given != nil || content != nil else {
      throw CommandError(
        .usage, "\(option): \(path) is missing",
        hint: "add a \(kind.rawValue.dropLast()) with handstamp-server admin \(kind) add, which creates the file")
    }
    guard let content, let objects = try? JSONSerialization.jsonObject(with: content) as? [[String: Any]],
      let entries = try? JSONDecoder().decode([Entry].self, from: content)
    else { throw refusal("not a list of \(kind)") }
    // A mistyped setting could allow more than intended.
    if let unknown = objects.flatMap(\.keys).first(where: { !names.contains($0) }) {
      throw refusal("unknown setting \(unknown)")
    }
    return Array(zip(entries, objects))
  }

  /// Returns the content and the mode of the file, or `nil` if it does not exist.
  private func read() throws(CommandError) -> (Data, mode: UInt32)? {
    do throws(RegistryOpenError) { return try PrivateFile.read(path, limit: .max) } catch {
      throw CommandError(
        .usage, "\(option): \(error)",
        hint: "let the server's user read it: chmod 644 \(path), and chmod 755 for its folder")
    }
  }

  /// - Throws: what ``remove(_:)`` would throw for a file that cannot be read.
  func check() throws { try change { _ in } }

  /// Removes an entry; `false` if there is none.
  func remove(_ id: String) throws -> Bool {
    try change { entries in
      let previous = entries.count
      entries.removeAll { $0["id"] as? String == id }
      return entries.count < previous
    }
  }

  /// Changes the objects in the file. Written only if they have changed: a file keeps its mode and its owner, and one that is
  /// missing is created with its folder, readable for the server's user, who may be another.
  func change<Value>(_ body: (inout [[String: Any]]) throws -> Value) throws -> Value {
    let file = try read()
    let previous = try file.flatMap { try JSONSerialization.jsonObject(with: $0.0) as? [[String: Any]] } ?? []
    var entries = previous
    let value = try body(&entries)
    guard entries.count != previous.count else { return value }
    let json = try JSONSerialization.data(
      withJSONObject: entries, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    try createFolder()
    let facts = FileFacts(path)
    do throws(SystemError) {
      try AtomicFile.replace(path, with: Array(json) + [UInt8(ascii: "\n")], mode: file?.mode ?? 0o644)
    } catch {
      throw CommandError(
        .failure, "\(path) cannot be written: \(error.reason)", hint: "check the folder's permissions")
    }
    if geteuid() == 0, let facts { lchown(path, facts.owner, facts.group) }
    return value
  }

  private func createFolder() throws(CommandError) {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard !FileManager.default.fileExists(atPath: folder) else { return }
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    } catch {
      throw CommandError(
        .failure, "the folder \(folder) cannot be created", hint: "create it, or name another file with \(option)")
    }
  }
}
#endif
