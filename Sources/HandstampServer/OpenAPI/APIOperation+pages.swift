#if Server
import Foundation
import HTTPTypes

extension APIOperation {
  private typealias S = APISchema

  /// Pages for browsers, as they are with mail and accounts of the server's own.
  static var pages: [APIOperation] {
    let sent = [
      "response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method", "scope", "state",
      "nonce", "prompt", "max_age", "login_hint", "id_token_hint", "request_uri", "resource",
    ]
    let mailed = ["token"]
    return page(
      "/oauth/authorize", "Sign in, and allow an app access (RFC 6749 section 4.1; PKCE with S256 is required).",
      query: sent, fields: ["email", "password"])
      + page(
        "/oauth/logout", "Sign out at a client's request (OpenID Connect RP-Initiated Logout 1.0).",
        query: ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"], fields: [])
      + page("/device", "Enter the code of another device.", query: ["user_code"], fields: ["user_code"])
      + page("/sign-in", "Sign in.", query: ["next"], fields: ["email", "password", "passkey"])
      + page("/recover", "Sign in with a recovery code.", query: ["next"], fields: ["email", "recovery_code"])
      + page("/sign-up", "Create an account.", query: ["next"], fields: ["name", "email", "new_password"])
      + page("/sign-up/confirm", "Follow the link of a sign-up.", query: mailed, fields: ["token", "new_password"])
      + page("/forgot-password", "Ask for a link that sets a new password.", query: ["next"], fields: ["email"])
      + page("/reset-password", "Follow that link.", query: mailed, fields: ["token", "new_password", "keep_passkeys"])
      + page("/account", "The profile.", fields: ["name"])
      + page("/account/email", "The address.", fields: ["new_email"])
      + page("/account/email/confirm", "Follow the link to a new address.", query: mailed, fields: ["token"])
      + page(
        "/account/security", "The password, passkeys and recovery codes.",
        fields: ["current_password", "new_password", "end_others", "passkey", "passkey_id"])
      + page("/account/devices", "Where the person is signed in.", fields: ["session"])
      + page("/account/devices/end", "Sign out everywhere else.", fields: [])
      + page("/account/apps", "Connected applications.", fields: ["app"])
      + page("/account/data", "Download what is stored.", fields: [])
      + page("/account/delete", "Delete the account.", fields: ["typed_email", "password"])
      + [
        options("/passkey/options", "Options for signing in with a passkey, for the page's script."),
        options("/account/passkey/options", "Options for a new passkey, for the page's script."),
        get("/account/activity", "What has happened."),
        get("/account/devices/list", "The list alone, for the page's script.", [.unauthorized]),
        APIOperation(
          method: .get, path: "/account/devices/events", tag: "pages",
          summary: "The account's events, for the page's script.",
          answers: [
            APIAnswer(status: 200, content: .other(type: "text/event-stream")), .unauthorized, .page(429), .page(503),
          ]),
        APIOperation(
          method: .post, path: "/sign-out", tag: "pages", summary: "Sign this browser out.", body: form([]),
          answers: seen),
        APIOperation(
          method: .get, path: "/assets/{name}", tag: "pages", summary: "A file of the pages.",
          parameters: [["name": "name", "in": "path", "required": true, "schema": S.string()]],
          answers: [APIAnswer(status: 200, content: .other(type: "text/css")), .page(404)]),
      ]
  }

  private static let seen: [APIAnswer] = [
    .page(), .page(400), .page(403), .page(413), .page(415), .page(429), .page(503), .redirect,
  ]

  private static func form(_ fields: [String]) -> APIBody {
    let all = ["action", "csrf"] + fields
    return .form(S.object(APIObject(uniqueKeysWithValues: all.map { ($0, S.string()) }), optional: Set(all)))
  }

  private static func parameters(_ names: [String]) -> [APIObject] {
    names.map { ["name": $0, "in": "query", "required": false, "schema": S.string()] as APIObject }
  }

  private static func options(_ path: String, _ summary: String) -> APIOperation {
    APIOperation(
      method: .post, path: path, tag: "pages", summary: summary,
      parameters: [["name": "X-CSRF-Token", "in": "header", "required": true, "schema": S.string()]],
      answers: [.ok(S.object(["challenge": S.string()])), .unauthorized, .page(403), .page(429), .page(503)])
  }

  private static func get(_ path: String, _ summary: String, _ more: [APIAnswer] = []) -> APIOperation {
    APIOperation(method: .get, path: path, tag: "pages", summary: summary, answers: seen + more)
  }

  /// A page, and the forms on it.
  private static func page(
    _ path: String, _ summary: String, query: [String] = [], fields: [String]
  ) -> [APIOperation] {
    [
      APIOperation(
        method: .get, path: path, tag: "pages", summary: summary, parameters: parameters(query), answers: seen),
      APIOperation(
        method: .post, path: path, tag: "pages", summary: "The forms of that page.", parameters: parameters(query),
        body: form(fields), answers: seen),
    ]
  }
}

extension APIAnswer {
  fileprivate static let redirect = APIAnswer(status: 303, content: .none)
  fileprivate static let unauthorized = APIAnswer(status: 401, content: .none)
}
#endif
