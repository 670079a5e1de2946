import Foundation
public import HandstampCore

/// The data that a server needs besides its database and never stores in it: its instance ID and the keys of its tokens.
public struct ServerKeys: Sendable {
  public let instance: InstanceID
  public let master: MasterKeys

  public init(instance: InstanceID, master: MasterKeys) {
    self.instance = instance
    self.master = master
  }

  /// Creates a new instance with one key, from the system's random source.
  public static func drawn() throws -> ServerKeys {
    var random = SystemRandomNumberGenerator()
    return ServerKeys(
      instance: InstanceID(UUID().uuidString.lowercased()),
      master: try MasterKeys(drawing: KeyID("k1"), from: &random))
  }
}

/// The file with ``ServerKeys``: JSON, mode 0600, created once and overwritten only to mark it as in use, and to rotate or retire
/// a key.
public struct KeyFile: Sendable {
  public let path: String

  public init(path: String) { self.path = path }

  package struct Contents {
    package var keys: ServerKeys
    /// Whether a database was created for the keys. From then on, a missing database is an error and not a first start.
    package var inUse: Bool
  }

  /// Returns the keys, or `nil` if there is no file. Never replaces a file that it cannot read.
  public func load() throws(RegistryOpenError) -> ServerKeys? { try read()?.keys }

  /// Returns the keys that are given; without any, those of the file, which must be there.
  package func keys(or given: ServerKeys?) throws(RegistryOpenError) -> ServerKeys {
    if let given { return given }
    guard let keys = try load() else { throw .keyFileMissing(path: path) }
    return keys
  }

  /// Returns the keys in the text of a key file that is stored elsewhere, such as in the environment or a secret manager.
  ///
  /// - Parameter name: the name of that place, for errors.
  public static func keys(text: Secret, named name: String) throws(RegistryOpenError) -> ServerKeys {
    try KeyFile(path: name).contents(of: text.withExposedBytes { Data($0) }).keys
  }

  package func read() throws(RegistryOpenError) -> Contents? {
    guard let (data, mode) = try PrivateFile.read(path, limit: 1 << 16) else { return nil }
    guard mode & 0o077 == 0 else { throw .keyFileOpenToOthers(path: path) }
    return try contents(of: data)
  }

  private func contents(of data: Data) throws(RegistryOpenError) -> Contents {
    let document: Document
    // Before the rest, which another format may not have.
    if let format = try? JSONDecoder().decode(Format.self, from: data).format, format != Document.format {
      throw .keyFileInvalid(path: path, "its format \(format) is unknown")
    }
    do { document = try JSONDecoder().decode(Document.self, from: data) } catch {
      throw .keyFileInvalid(path: path, "it is not a key file of format 1")
    }
    return Contents(keys: try keys(of: document), inUse: document.inUse)
  }

  /// Creates the file with these keys, unless it exists. Returns the contents of the file.
  package func create(_ keys: ServerKeys) throws(RegistryOpenError) -> Contents {
    if try PrivateFile.create(path, try encoded(Contents(keys: keys, inUse: false))) {
      return Contents(keys: keys, inUse: false)
    }
    guard let contents = try read() else { throw .unavailable("\(path) disappeared") }
    return contents
  }

  package func markInUse(_ keys: ServerKeys) throws(RegistryOpenError) {
    try replace(Contents(keys: keys, inUse: true))
  }

  package func replace(_ contents: Contents) throws(RegistryOpenError) {
    try PrivateFile.replace(path, try encoded(contents))
  }

  private struct Format: Decodable { var format: Int }

  private struct Document: Codable {
    static let format = 1
    var format: Int
    var instance: String
    var inUse: Bool
    var current: String
    /// The keys in Base64, by ID.
    var keys: [String: Data]
    var retired: [String]
  }

  private func keys(of document: Document) throws(RegistryOpenError) -> ServerKeys {
    guard !document.instance.isEmpty else { throw .keyFileInvalid(path: path, "it has no instance ID") }
    var keys: [KeyID: Secret] = [:]
    for (name, bytes) in document.keys { keys[KeyID(name)] = Secret(bytes: bytes) }
    do {
      let master = try MasterKeys(
        current: KeyID(document.current), keys: keys, retired: Set(document.retired.map { KeyID($0) }))
      return ServerKeys(instance: InstanceID(document.instance), master: master)
    } catch {
      throw .keyFileInvalid(path: path, "\(error)")
    }
  }

  private func encoded(_ contents: Contents) throws(RegistryOpenError) -> Data {
    let master = contents.keys.master
    var keys: [String: Data] = [:]
    for (id, key) in master.keys { keys[id.rawValue] = key.withExposedBytes { Data($0) } }
    let document = Document(
      format: Document.format, instance: contents.keys.instance.rawValue, inUse: contents.inUse,
      current: master.current.rawValue, keys: keys, retired: master.retired.map(\.rawValue).sorted())
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do { return try encoder.encode(document) } catch { throw .unavailable("cannot encode the keys as JSON") }
  }
}
