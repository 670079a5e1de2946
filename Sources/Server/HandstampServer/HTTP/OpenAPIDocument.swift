#if Server
import CHandstampFiles
import Foundation
import HandstampSupport

/// The OpenAPI 3.1 document, `docs/openapi.json`, as it is true of one server.
struct OpenAPIDocument: Sendable {
  struct Operation: Sendable, Hashable {
    /// In capitals.
    var method: String
    /// With parameters such as `{id}`.
    var path: String
    var id: String
  }

  /// Those of the file, read once in a process.
  private static let documented = Result { try operations(in: file()) }
  let operations: [Operation]
  private let configuration: ServerConfiguration

  /// - Throws: An error of `JSONSerialization`, or a `DecodingError` if the file is not a document; a test reads it.
  init(for configuration: ServerConfiguration) throws {
    self.configuration = configuration
    operations = try OpenAPIDocument.documented.get().compactMap { operation in
      OpenAPIDocument.path(operation.path, at: configuration).map {
        Operation(method: operation.method, path: $0, id: operation.id)
      }
    }
  }

  /// The text. Composed when it is called for, because that takes a sixth of a server's start.
  ///
  /// - Throws: An error of `JSONSerialization`.
  func bytes() throws -> [UInt8] {
    var document = try OpenAPIDocument.file()
    let paths = document["paths"] as? [String: Any] ?? [:]
    document["paths"] = paths.reduce(into: [String: Any]()) { served, entry in
      if let path = OpenAPIDocument.path(entry.key, at: configuration) { served[path] = entry.value }
    }
    document["servers"] = [["url": configuration.issuer]]
    return Array(try JSONSerialization.data(withJSONObject: document, options: [.sortedKeys, .withoutEscapingSlashes]))
  }

  private static func file() throws -> [String: Any] {
    let json = try JSONSerialization.jsonObject(with: Data(buffer: handstamp_openapi().buffer))
    return json as? [String: Any] ?? [:]
  }

  private static func operations(in document: [String: Any]) throws -> [Operation] {
    guard let paths = document["paths"] as? [String: [String: [String: Any]]] else {
      throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: "no OpenAPI document"))
    }
    return paths.flatMap { path, members in
      members.map { Operation(method: $0.key.uppercased(), path: path, id: $0.value["operationId"] as? String ?? "") }
    }
  }

  /// A path of the file as it is at a server; `nil` if that has none.
  private static func path(_ path: String, at configuration: ServerConfiguration) -> String? {
    switch path {
    case "/oauth/register": configuration.clientRegistration == nil ? nil : path
    case AssociationFile.applePath: configuration.appleApps.isEmpty ? nil : path
    case AssociationFile.androidPath: configuration.androidApps.isEmpty ? nil : path
    case "/.well-known/oauth-authorization-server": FixedDocument.metadataPath(of: configuration.issuer)
    case "/.well-known/oauth-protected-resource": ResourceDocument(configuration)?.path
    default: path.hasPrefix("/admin/") && configuration.administrators.isEmpty ? nil : path
    }
  }
}
#endif
