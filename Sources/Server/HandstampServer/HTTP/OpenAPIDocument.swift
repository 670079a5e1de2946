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

  let operations: [Operation]
  let bytes: [UInt8]

  /// - Throws: An error of `JSONSerialization`, or a `DecodingError` if the file is not a document; a test reads it.
  init(for configuration: ServerConfiguration) throws {
    guard
      var document = try JSONSerialization.jsonObject(with: Data(buffer: handstamp_openapi().buffer)) as? [String: Any],
      var paths = document["paths"] as? [String: [String: [String: Any]]]
    else {
      throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: "no OpenAPI document"))
    }
    if configuration.administrators.isEmpty { paths = paths.filter { !$0.key.hasPrefix("/admin/") } }
    if configuration.clientRegistration == nil { paths["/oauth/register"] = nil }
    if configuration.appleApps.isEmpty { paths[AssociationFile.applePath] = nil }
    if configuration.androidApps.isEmpty { paths[AssociationFile.androidPath] = nil }
    let metadata = paths.removeValue(forKey: "/.well-known/oauth-authorization-server")
    paths[FixedDocument.metadataPath(of: configuration.issuer)] = metadata
    let resource = paths.removeValue(forKey: "/.well-known/oauth-protected-resource")
    if let path = ResourceDocument(configuration)?.path { paths[path] = resource }
    document["paths"] = paths
    document["servers"] = [["url": configuration.issuer]]
    operations = paths.flatMap { path, members in
      members.map { Operation(method: $0.key.uppercased(), path: path, id: $0.value["operationId"] as? String ?? "") }
    }
    bytes = Array(
      try JSONSerialization.data(withJSONObject: document, options: [.sortedKeys, .withoutEscapingSlashes]))
  }
}
#endif
