#if Server
import Foundation
import HTTPTypes

/// A JSON value of the OpenAPI document, made of dictionaries, arrays, strings, numbers and Booleans.
typealias APIObject = [String: any Sendable]

/// One operation of the HTTP API, as the OpenAPI document describes it. A test compares them with the routes.
struct APIOperation: Sendable {
  enum Access: Sendable {
    case anyone
    /// A session's access token, or the cookie of a browser's session, with its CSRF token unless the method is safe.
    case session
    /// An OAuth client, which may have to authenticate.
    case client
    /// An administrator's token.
    case administrator
  }

  let method: HTTPRequest.Method
  /// With parameters such as `{id}`.
  let path: String
  let tag: String
  let summary: String
  var access = Access.anyone
  var parameters: [APIObject] = []
  var body: APIBody?
  var answers: [APIAnswer]

  /// As one member of the path's object.
  var object: APIObject {
    var object: APIObject = [
      "summary": summary, "tags": [tag],
      "operationId": method.rawValue.lowercased() + path.split(separator: "/").map(APIOperation.word).joined(),
    ]
    if !parameters.isEmpty { object["parameters"] = parameters }
    if let body { object["requestBody"] = body.object }
    switch access {
    case .anyone: object["security"] = [APIObject]()
    case .session: object["security"] = [["bearer": [String]()], ["dpop": [String]()], ["cookie": [String]()]]
    case .client: object["security"] = [APIObject(), ["client": [String]()]]
    case .administrator: object["security"] = [["administrator": [String]()]]
    }
    object["responses"] = APIAnswer.object(of: answers + common)
    return object
  }

  /// What every operation of its kind may answer.
  private var common: [APIAnswer] {
    if tag == "pages" { return [] }
    var answers: [APIAnswer] = []
    switch access {
    case .anyone, .client: if tag == "accounts" { answers.append(.problem(401, "proof_invalid")) }
    case .session:
      answers += [
        .problem(
          401, "token_missing", "token_invalid", "token_expired", "session_ended", "proof_invalid", "not_signed_in"),
        .problem(403, "insufficient_scope", "origin_not_allowed", "csrf_token_invalid"),
      ]
    case .administrator: answers.append(.problem(401, "token_missing", "token_invalid"))
    }
    switch body {
    case .json?:
      answers += [
        .problem(400, "invalid_request"), .problem(413, "too_large"), .problem(415, "unsupported_media_type"),
      ]
    case .form?:
      answers += [.oauth(400, "invalid_request", "invalid_grant"), .oauth(413, "invalid_request")]
      answers += [.oauth(401, "invalid_client"), .oauth(429, "temporarily_unavailable")]
    case nil: break
    }
    if case .form? = body {
      answers.append(.oauth(503, "temporarily_unavailable"))
    } else {
      answers += [.problem(429, "rate_limited", "too_many_streams"), .problem(503, "unavailable", "busy")]
    }
    return answers
  }

  private static func word(_ part: Substring) -> String {
    let plain = part.filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" || $0 == "." }
    return plain.split { $0 == "-" || $0 == "_" || $0 == "." }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
      .joined()
  }
}

/// The body of a request.
enum APIBody: Sendable {
  case json(APIObject, isRequired: Bool = true)
  case form(APIObject)

  var object: APIObject {
    switch self {
    case .json(let schema, let isRequired):
      ["required": isRequired, "content": ["application/json": ["schema": schema]]]
    case .form(let schema):
      ["required": true, "content": ["application/x-www-form-urlencoded": ["schema": schema]]]
    }
  }
}

/// A response.
struct APIAnswer: Sendable {
  enum Content: Sendable {
    case none
    case json(APIObject)
    case problem(codes: [String])
    case oauth(errors: [String])
    case other(type: String)
  }

  let status: Int
  let content: Content

  static func ok(_ schema: APIObject) -> APIAnswer { APIAnswer(status: 200, content: .json(schema)) }
  static func created(_ schema: APIObject) -> APIAnswer { APIAnswer(status: 201, content: .json(schema)) }
  static func accepted(_ schema: APIObject) -> APIAnswer { APIAnswer(status: 202, content: .json(schema)) }
  static let nothing = APIAnswer(status: 204, content: .none)
  static func page(_ status: Int = 200) -> APIAnswer { APIAnswer(status: status, content: .other(type: "text/html")) }
  static func problem(_ status: Int, _ codes: String...) -> APIAnswer {
    APIAnswer(status: status, content: .problem(codes: codes))
  }
  static func oauth(_ status: Int, _ errors: String...) -> APIAnswer {
    APIAnswer(status: status, content: .oauth(errors: errors))
  }

  /// Returns the member `responses`: answers of one status are one, with all their codes.
  static func object(of answers: [APIAnswer]) -> APIObject {
    var object: APIObject = [:]
    for (status, members) in Dictionary(grouping: answers, by: \.status) {
      var problems: [String] = []
      var errors: [String] = []
      var content: APIObject = [:]
      for member in members {
        switch member.content {
        case .none: break
        case .json(let schema): content["application/json"] = ["schema": schema]
        case .problem(let codes): problems += codes.filter { !problems.contains($0) }
        case .oauth(let names): errors += names.filter { !errors.contains($0) }
        case .other(let type): content[type] = ["schema": ["type": "string"]]
        }
      }
      if !problems.isEmpty { content["application/problem+json"] = ["schema": APISchema.problem(status, problems)] }
      if !errors.isEmpty { content["application/json"] = ["schema": APISchema.oauthError(errors)] }
      var answer: APIObject = ["description": words[status] ?? "Done."]
      if !content.isEmpty { answer["content"] = content }
      if [429, 503].contains(status) { answer["headers"] = ["Retry-After": APISchema.retryAfter] }
      object["\(status)"] = answer
    }
    return object
  }

  private static let words: [Int: String] = [
    200: "Done.", 201: "Created.", 202: "Accepted; a mail follows if there is a reason for one.",
    204: "Done; there is no content.", 303: "Continue at Location.", 304: "Not modified.",
    400: "The request is not valid.", 401: "Sign-in or client authentication is required.", 403: "Refused.",
    404: "Not found.", 409: "In conflict with what is stored.", 413: "The body is too large.",
    415: "The content type of the body is not supported.", 422: "Not possible.",
    429: "Too many attempts. Nothing was decided.", 503: "Try again later. Nothing was decided.",
  ]
}
#endif
