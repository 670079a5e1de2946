#if SQLite
import Foundation
public import HandstampCore
public import HandstampRegistry

/// What a server needs besides its database, and never keeps in it: which instance it is, and the keys of its tokens.
public struct ServerKeys: Sendable {
  public let instance: InstanceID
  public let master: MasterKeys

  public init(instance: InstanceID, master: MasterKeys) {
    self.instance = instance
    self.master = master
  }

  /// A new instance with one key, of the system's randomness.
  public static func drawn() throws(MasterKeysError) -> ServerKeys {
    var random = SystemRandomNumberGenerator()
    return ServerKeys(
      instance: InstanceID(UUID().uuidString.lowercased()),
      master: try MasterKeys(drawing: KeyID("k1"), from: &random))
  }
}

/// The file that holds ``ServerKeys``: JSON, mode 0600, created once and never overwritten but to note that it is in use.
public struct KeyFile: Sendable {
  public let path: String

  public init(path: String) { self.path = path }

  struct Contents {
    var keys: ServerKeys
    /// Whether a database was made for it: from then on, a missing database is a mistake and not a beginning.
    var inUse: Bool
  }

  /// The keys; nothing when there is no file. Never replaces a file that it cannot read.
  public func load() throws(RegistryOpenError) -> ServerKeys? { try read()?.keys }

  /// The keys that the text of a key file names, for those who keep it elsewhere: in the environment, or with a secret manager.
  ///
  /// - Parameter name: what to call the place in an error.
  public static func keys(text: Secret, named name: String) throws(RegistryOpenError) -> ServerKeys {
    try KeyFile(path: name).contents(of: text.withExposedBytes { Data($0) }).keys
  }

  func read() throws(RegistryOpenError) -> Contents? {
    guard let (data, mode) = try PrivateFile.read(path, limit: 1 << 16) else { return nil }
    guard mode & 0o077 == 0 else { throw .keyFileOpenToOthers(path: path) }
    return try contents(of: data)
  }

  private func contents(of data: Data) throws(RegistryOpenError) -> Contents {
    let document: Document
    do { document = try JSONDecoder().decode(Document.self, from: data) } catch {
      throw .keyFileInvalid(path: path, "it is not what a key file looks like")
    }
    guard document.format == Document.format else {
      throw .keyFileInvalid(path: path, "its format \(document.format) is unknown")
    }
    return Contents(keys: try keys(of: document), inUse: document.inUse)
  }

  /// Writes keys where there is no file; otherwise what is there counts.
  func create(_ keys: ServerKeys) throws(RegistryOpenError) -> Contents {
    if try PrivateFile.create(path, try encoded(Contents(keys: keys, inUse: false))) {
      return Contents(keys: keys, inUse: false)
    }
    guard let contents = try read() else { throw .unavailable("\(path) comes and goes") }
    return contents
  }

  func markInUse(_ keys: ServerKeys) throws(RegistryOpenError) {
    try PrivateFile.replace(path, try encoded(Contents(keys: keys, inUse: true)))
  }

  private struct Document: Codable {
    static let format = 1
    var format: Int
    var instance: String
    var inUse: Bool
    var current: String
    /// Base64, by name.
    var keys: [String: Data]
  }

  private func keys(of document: Document) throws(RegistryOpenError) -> ServerKeys {
    guard !document.instance.isEmpty else { throw .keyFileInvalid(path: path, "it names no instance") }
    var keys: [KeyID: Secret] = [:]
    for (name, bytes) in document.keys { keys[KeyID(name)] = Secret(bytes: bytes) }
    do throws(MasterKeysError) {
      let master = try MasterKeys(current: KeyID(document.current), keys: keys)
      return ServerKeys(instance: InstanceID(document.instance), master: master)
    } catch {
      switch error {
      case .missing(let id): throw .keyFileInvalid(path: path, "the current key \(id) is not in it")
      case .badName(let id): throw .keyFileInvalid(path: path, "\(id) is no name of a key")
      case .tooShort(let id): throw .keyFileInvalid(path: path, "the key \(id) is too short")
      }
    }
  }

  private func encoded(_ contents: Contents) throws(RegistryOpenError) -> Data {
    let master = contents.keys.master
    var keys: [String: Data] = [:]
    for (id, key) in master.keys { keys[id.rawValue] = key.withExposedBytes { Data($0) } }
    let document = Document(
      format: Document.format, instance: contents.keys.instance.rawValue, inUse: contents.inUse,
      current: master.current.rawValue, keys: keys)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do { return try encoder.encode(document) } catch { throw .unavailable("the keys cannot be written as JSON") }
  }
}
#endif
