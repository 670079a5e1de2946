#if Server
import Crypto
import Foundation
import HandstampSupport
import HTTPTypes
import Hummingbird
import NIOCore

/// A JSON document that does not change while the server runs, with a strong validator.
struct FixedDocument: Sendable {
  let body: ByteBuffer
  let entityTag: String
  let cacheControl: String
  /// Whether pages of any origin may read it, as clients in browsers do with metadata and keys.
  let isForAllOrigins: Bool

  init(_ bytes: [UInt8], cacheControl: String, isForAllOrigins: Bool = false) {
    self.isForAllOrigins = isForAllOrigins
    body = ByteBuffer(bytes: bytes)
    entityTag = "\"" + Base64URL.encode(SHA256.hash(data: bytes).prefix(16)) + "\""
    self.cacheControl = cacheControl
  }

  /// Returns 200 with the document, or 304 if the client already has it (RFC 9110 section 13.1.2).
  func response(to request: Request) -> Response {
    var headers: HTTPFields = [.eTag: entityTag, .cacheControl: cacheControl]
    if isForAllOrigins { headers[.accessControlAllowOrigin] = "*" }
    if let known = request.headers[.ifNoneMatch], matches(known) {
      return Response(status: .notModified, headers: headers)
    }
    headers[.contentType] = "application/json"
    return Response(status: .ok, headers: headers, body: .init(byteBuffer: body))
  }

  private func matches(_ known: String) -> Bool {
    known.split(separator: ",").contains { tag in
      let tag = tag.trimmingCharacters(in: .whitespaces)
      // If-None-Match compares weakly.
      return tag == "*" || tag == entityTag || tag == "W/" + entityTag
    }
  }
}

extension FixedDocument {
  /// The document that apps read at `GET /v1/app-config`, byte for byte as configured.
  init(appConfig text: String) throws(ServerConfigurationError) {
    guard (try? JSONSerialization.jsonObject(with: Data(text.utf8))) is [String: Any] else { throw .appConfig }
    self.init(Array(text.utf8), cacheControl: "public, max-age=60")
  }
}
#endif
