#if Server
import Foundation
import HTTPTypes

extension FixedDocument {
  /// The OpenAPI 3.1 document of a server.
  init(openAPIOf configuration: ServerConfiguration) {
    self.init(FixedDocument.openAPI(configuration), cacheControl: "public, max-age=300")
  }

  private static func openAPI(_ configuration: ServerConfiguration) -> [UInt8] {
    var paths: [String: APIObject] = [:]
    for operation in APIOperation.all(for: configuration) {
      paths[operation.path, default: [:]][operation.method.rawValue.lowercased()] = operation.object
    }
    let document: APIObject = [
      "openapi": "3.1.0",
      "info": [
        "title": "Handstamp", "version": "1",
        "description":
          "The session server. Errors are problem+json with a stable `code`; those of the OAuth endpoints follow RFC 6749. Members that are not documented are ignored in requests, and to be ignored in answers.",
      ],
      "servers": [["url": configuration.issuer]],
      "paths": paths,
      "components": [
        "schemas": APISchema.named,
        "securitySchemes": [
          "bearer": ["type": "http", "scheme": "bearer"],
          "dpop": ["type": "apiKey", "in": "header", "name": "Authorization", "description": "RFC 9449 section 7.1."],
          "cookie": [
            "type": "apiKey", "in": "cookie", "name": Cookie.session,
            "description": "Of a browser's session; unsafe methods need its CSRF token as X-CSRF-Token.",
          ],
          "client": ["type": "http", "scheme": "basic"],
          "administrator": ["type": "http", "scheme": "bearer"],
        ],
      ],
    ]
    // Made of JSON's types alone.
    let data = try? JSONSerialization.data(withJSONObject: document, options: [.sortedKeys, .withoutEscapingSlashes])
    return Array(data ?? Data("{}".utf8))
  }
}

extension APIOperation {
  static func all(for configuration: ServerConfiguration) -> [APIOperation] {
    accounts + sessions + oauth + pages + (configuration.administrators.isEmpty ? [] : administration)
      + documents(metadata: FixedDocument.metadataPath(of: configuration.issuer))
  }
}
#endif
