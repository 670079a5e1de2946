#if Server
import Foundation

/// Schemas of the OpenAPI document (JSON Schema 2020-12).
enum APISchema {
  static func string(_ description: String? = nil, _ more: APIObject = [:]) -> APIObject {
    var schema: APIObject = ["type": "string"]
    schema["description"] = description
    return schema.merging(more) { $1 }
  }

  static func choice(_ values: [String], _ description: String? = nil) -> APIObject {
    string(description, ["enum": values])
  }

  /// - Parameter optional: the names of members that may be missing.
  static func object(_ members: APIObject, optional: Set<String> = []) -> APIObject {
    ["type": "object", "properties": members, "required": members.keys.filter { !optional.contains($0) }.sorted()]
  }

  static func list(of schema: APIObject) -> APIObject { ["type": "array", "items": schema] }

  static func named(_ name: String) -> APIObject { ["$ref": "#/components/schemas/\(name)"] }

  static let integer: APIObject = ["type": "integer"]
  static let boolean: APIObject = ["type": "boolean"]
  static let secret = string("A secret.", ["format": "password"])
  static let name = string("1 to 200 characters, without control characters.", ["minLength": 1, "maxLength": 200])
  static let email = string("An email address.", ["maxLength": 254])
  static let instant = string("RFC 3339, in UTC.", ["format": "date-time"])
  static let milliseconds: APIObject = ["type": "integer", "description": "Milliseconds since 1970."]
  static let retryAfter: APIObject = ["description": "Seconds.", "schema": ["type": "string", "pattern": "^[0-9]+$"]]

  static func status(_ value: String) -> APIObject { object(["status": choice([value])]) }

  static func problem(_ status: Int, _ codes: [String]) -> APIObject {
    let codes: APIObject = ["status": ["const": status], "code": ["enum": codes.sorted()]]
    return ["allOf": [named("Problem"), ["properties": codes]]]
  }

  static func oauthError(_ errors: [String]) -> APIObject {
    ["allOf": [named("OAuthError"), ["properties": ["error": ["enum": errors.sorted()]]]]]
  }

  /// The schemas with names.
  static var named: APIObject {
    [
      "Problem": object(
        [
          "type": string("`urn:handstamp:problem:` and the code."), "title": string(), "status": integer,
          "code": string("Stable, for programs."), "detail": string(),
          "reason": string("Why, if there are several reasons."),
        ], optional: ["detail", "reason"]),
      "OAuthError": object(
        [
          "error": string("RFC 6749 section 5.2."), "error_code": string("More specific than `error`."),
          "error_description": string(), "reason": string("Why the session ended."),
        ], optional: ["error_code", "error_description", "reason"]),
      "Device": object(["id": name, "name": name, "platform": name]),
      "Profile": object(["id": string(), "name": string(), "is_anonymous": boolean]),
      "Session": object(
        [
          "access_token": secret, "token_type": choice(["Bearer", "DPoP"]), "expires_in": integer,
          "refresh_token": secret, "session_id": string(), "revocation_handle": secret, "profile": named("Profile"),
          "scope": string(),
        ], optional: ["scope"]),
      "UserInfo": object(
        [
          "sub": string(), "name": string(), "preferred_username": string(), "email": string(),
          "email_verified": boolean,
        ],
        optional: ["name", "preferred_username", "email", "email_verified"]),
      "Tokens": object(
        [
          "access_token": secret, "token_type": choice(["Bearer", "DPoP"]), "expires_in": integer,
          "refresh_token": secret, "session_id": string(), "scope": string(), "revocation_handle": secret,
          "profile": named("Profile"), "id_token": secret,
        ], optional: ["scope", "revocation_handle", "profile", "id_token"]),
      "SignedInDevice": object(
        [
          "id": string(), "current": boolean,
          "device": object(["id": name, "name": name, "platform": name], optional: ["id"]), "created_at": instant,
          "created_at_ms": milliseconds, "last_seen_at": instant, "last_seen_at_ms": milliseconds,
          "expires_at": instant, "expires_at_ms": milliseconds,
        ], optional: ["expires_at", "expires_at_ms"]),
    ]
  }
}
#endif
