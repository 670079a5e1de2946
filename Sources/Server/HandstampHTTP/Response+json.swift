#if HTTP
package import HandstampSupport
package import HTTPTypes
package import HummingbirdCore
package import NIOCore

extension JSONText {
  package var buffer: ByteBuffer { ByteBuffer(bytes: finished) }

  /// The members that every problem has (RFC 9457 section 3.1).
  package init(problem status: HTTPResponse.Status, _ code: String, _ title: String, detail: String? = nil) {
    self.init()
    add("type", "urn:handstamp:problem:" + code)
    add("title", title)
    add("status", Int64(status.code))
    add("detail", ifPresent: detail)
    add("code", code)
  }
}

extension Response {
  /// A JSON response that must not be cached.
  package static func json(_ json: JSONText, status: HTTPResponse.Status = .ok) -> Response {
    .json(json.finished, status: status)
  }

  /// The same, of JSON as text.
  package static func json(_ bytes: [UInt8], status: HTTPResponse.Status) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  /// An error of an API (RFC 9457).
  package static func problem(
    _ status: HTTPResponse.Status, _ code: String, _ title: String, detail: String? = nil
  ) -> Response {
    .problem(JSONText(problem: status, code, title, detail: detail), status)
  }

  /// The same, with members of its own.
  package static func problem(
    _ json: JSONText, _ status: HTTPResponse.Status, headers: HTTPFields = [:]
  ) -> Response {
    var response = Response.json(json, status: status)
    response.headers[.contentType] = "application/problem+json"
    response.headers.append(contentsOf: headers)
    return response
  }
}

/// Header fields of every response.
package struct ResponseFields: Sendable {
  /// `Strict-Transport-Security` (RFC 6797); `nil` for a server without a public `https` address.
  package var transportSecurity: String?

  package init() {}

  private static let policy = HTTPField(
    name: .contentSecurityPolicy,
    value: "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'")

  package func add(to headers: inout HTTPFields) {
    headers[.xContentTypeOptions] = "nosniff"
    // JSON and redirects: nothing of them may be shown as a page, nor in one. Pages have their own.
    if !headers.contains(.contentSecurityPolicy) { headers.append(ResponseFields.policy) }
    if let transportSecurity { headers[.strictTransportSecurity] = transportSecurity }
  }
}
#endif
