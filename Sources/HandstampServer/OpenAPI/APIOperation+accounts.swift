#if Server
import Foundation
import HTTPTypes

extension APIOperation {
  private typealias S = APISchema
  private static let device = S.named("Device")
  private static let session = S.named("Session")
  private static let weak = APIAnswer.problem(400, "weak_password")
  private static let closed = APIAnswer.problem(403, "sign_up_closed", "not_offered")

  private static let otherOrigin = APIAnswer.problem(403, "origin_not_allowed", "csrf_token_invalid")
  private static let access = S.object([
    "access_token": S.secret, "token_type": S.choice(["Bearer", "DPoP"]), "expires_in": S.integer,
  ])
  private static let csrf: [APIObject] = [
    ["name": "X-CSRF-Token", "in": "header", "required": false, "schema": S.string()]
  ]
  /// The state of a browser application's session.
  private static let browser = S.object(
    [
      "signed_in": S.boolean, "session_id": S.string(), "csrf_token": S.secret, "authenticated_at": S.string(),
      "expires_at": S.string(), "profile": S.named("Profile"),
    ], optional: ["session_id", "csrf_token", "authenticated_at", "expires_at", "profile"])

  /// Sign-up, sign-in and the account.
  static var accounts: [APIOperation] {
    let signUp = S.object(
      ["email": S.email, "password": S.secret, "username": S.name, "device": device, "rotation_key": S.secret],
      optional: ["password", "rotation_key"])
    let used = APIAnswer.problem(409, "rotation_key_used")
    return [
      APIOperation(
        method: .post, path: "/v1/sign-up", tag: "accounts", summary: "Create an account and its first session.",
        body: .json(signUp),
        answers: [
          .created(session), .accepted(S.status("confirmation_sent")), weak, closed,
          .problem(409, "email_taken", "rotation_key_used"),
        ]),
      APIOperation(
        method: .post, path: "/v1/sign-up/confirm", tag: "accounts", summary: "Redeem the code of a confirmation mail.",
        body: .json(
          S.object(
            ["token": S.secret, "password": S.secret, "device": device, "rotation_key": S.secret],
            optional: ["rotation_key"])),
        answers: [
          .created(session), .problem(400, "link_invalid"), weak, closed,
          .problem(409, "email_taken", "rotation_key_used"),
        ]),
      APIOperation(
        method: .post, path: "/v1/sign-in", tag: "accounts", summary: "Sign in with email address and password.",
        body: .json(
          S.object(
            ["email": S.email, "password": S.secret, "device": device, "rotation_key": S.secret],
            optional: ["rotation_key"])),
        answers: [.ok(session), .problem(401, "wrong_credentials"), .problem(403, "account_disabled"), used]),
      APIOperation(
        method: .post, path: "/v1/sign-in/anonymous", tag: "accounts", summary: "Create a guest account.",
        body: .json(S.object(["device": device, "rotation_key": S.secret], optional: ["rotation_key"])),
        answers: [.created(session), closed, used]),
      APIOperation(
        method: .post, path: "/v1/sign-in/apple", tag: "accounts", summary: "Sign in with Apple.",
        body: .json(
          S.object(
            [
              "id_token": S.secret, "nonce": S.string(), "device": device, "username": S.name, "rotation_key": S.secret,
            ], optional: ["username", "rotation_key"])),
        answers: [.ok(session), .problem(403, "id_token_invalid", "not_offered", "sign_up_closed"), used]),
      APIOperation(
        method: .post, path: "/v1/sign-in/passkey/options", tag: "accounts",
        summary: "Options for a passkey (PublicKeyCredentialRequestOptionsJSON of WebAuthn Level 3).",
        answers: [.ok(S.object(["challenge": S.string()])), .problem(403, "not_offered")]),
      APIOperation(
        method: .post, path: "/v1/sign-in/passkey", tag: "accounts",
        summary: "Sign in with a passkey: the text of an AuthenticationResponseJSON.",
        body: .json(
          S.object(
            ["passkey": S.string(), "device": device, "rotation_key": S.secret], optional: ["rotation_key"])),
        answers: [
          .ok(session), used,
          .problem(401, "passkey_expired", "passkey_unknown", "passkey_unverified", "passkey_refused"),
          .problem(403, "not_offered", "account_disabled"),
        ]),
      APIOperation(
        method: .get, path: "/v1/session", tag: "accounts", summary: "Whether this browser is signed in.",
        answers: [.ok(browser), otherOrigin]),
      APIOperation(
        method: .post, path: "/v1/session", tag: "accounts",
        summary: "Sign this browser in: the answer has a cookie, and no tokens.",
        body: .json([
          "type": "object",
          "anyOf": [S.object(["email": S.email, "password": S.secret]), S.object(["passkey": S.string()])],
        ]),
        answers: [
          .ok(browser),
          .problem(
            401, "wrong_credentials", "passkey_expired", "passkey_unknown", "passkey_unverified", "passkey_refused"),
          .problem(403, "origin_not_allowed", "account_disabled", "not_offered"),
        ]),
      APIOperation(
        method: .delete, path: "/v1/session", tag: "accounts", summary: "Sign this browser out.",
        parameters: csrf, answers: [.nothing, otherOrigin]),
      APIOperation(
        method: .post, path: "/v1/session/token", tag: "accounts",
        summary: "An access token of this browser's session, for other services.", parameters: csrf,
        answers: [.ok(access), .problem(401, "not_signed_in"), otherOrigin]),
      APIOperation(
        method: .post, path: "/v1/upgrade", tag: "accounts", summary: "Make a guest account a full one.",
        access: .session, body: .json(signUp),
        answers: [
          .ok(session), .accepted(S.status("confirmation_sent")), weak, closed,
          .problem(409, "email_taken", "not_anonymous", "rotation_key_used"),
        ]),
      APIOperation(
        method: .post, path: "/v1/password", tag: "accounts", summary: "Change the password.", access: .session,
        body: .json(S.object(["current": S.secret, "new": S.secret, "end_others": S.boolean])),
        answers: [.nothing, weak, .problem(403, "wrong_credentials", "not_offered")]),
      APIOperation(
        method: .post, path: "/v1/reauthenticate", tag: "accounts",
        summary: "Prove to be the owner, for what a session alone may not do.", access: .session,
        body: .json([
          "type": "object",
          "anyOf": [
            S.object(["password": S.secret]), S.object(["id_token": S.secret, "nonce": S.string()]),
            S.object(["passkey": S.string()]),
          ],
        ]),
        answers: [
          .ok(access),
          weak, .problem(403, "wrong_credentials", "id_token_invalid", "not_offered"),
        ]),
      APIOperation(
        method: .post, path: "/v1/password-reset", tag: "accounts", summary: "Request a mail to set a new password.",
        body: .json(S.object(["email": S.email])), answers: [.accepted(S.status("mail_sent")), closed]),
      APIOperation(
        method: .post, path: "/v1/password-reset/confirm", tag: "accounts",
        summary: "Set a new password with the code of a mail; every session ends.",
        body: .json(
          S.object(
            ["token": S.secret, "new_password": S.secret, "keep_passkeys": S.boolean], optional: ["keep_passkeys"])),
        answers: [.nothing, weak, .problem(400, "link_invalid"), closed]),
      APIOperation(
        method: .get, path: "/v1/me", tag: "accounts", summary: "The signed-in account.", access: .session,
        answers: [
          .ok(
            S.object(
              [
                "id": S.string(), "sub": S.string(), "name": S.string(), "is_anonymous": S.boolean, "email": S.email,
                "session_id": S.string(), "created_at": S.instant, "created_at_ms": S.milliseconds,
              ], optional: ["email"]))
        ]),
      APIOperation(
        method: .delete, path: "/v1/me", tag: "accounts", summary: "Delete the account; every session ends.",
        access: .session,
        body: .json(
          S.object(["password": ["type": ["string", "null"]] as APIObject], optional: ["password"]), isRequired: false),
        answers: [.nothing, weak, .problem(403, "wrong_credentials", "not_offered", "reauthentication_required")]),
    ]
  }

  /// Sessions and devices.
  static var sessions: [APIOperation] {
    let id: APIObject = [
      "name": "id", "in": "path", "required": true, "schema": S.string(nil, ["minLength": 1]),
    ]
    let count = S.object(["ended": S.integer])
    let stale = APIAnswer.problem(403, "reauthentication_required")
    return [
      APIOperation(
        method: .get, path: "/v1/sessions", tag: "sessions",
        summary: "The devices that the account is signed in on, the most recently seen first.", access: .session,
        answers: [.ok(S.object(["sessions": S.list(of: S.named("SignedInDevice"))]))]),
      APIOperation(
        method: .delete, path: "/v1/sessions", tag: "sessions", summary: "End every session of the account.",
        access: .session, answers: [.ok(count), .problem(400, "invalid_request"), stale]),
      APIOperation(
        method: .patch, path: "/v1/sessions/{id}", tag: "sessions", summary: "Rename a device.", access: .session,
        parameters: [id], body: .json(S.object(["name": S.name])),
        answers: [.ok(S.named("SignedInDevice")), stale, .problem(404, "not_found")]),
      APIOperation(
        method: .delete, path: "/v1/sessions/{id}", tag: "sessions", summary: "End a session of the account.",
        access: .session, parameters: [id], answers: [.nothing, .problem(404, "not_found"), stale]),
      APIOperation(
        method: .post, path: "/v1/sessions/end-others", tag: "sessions", summary: "End the other sessions.",
        access: .session, answers: [.ok(count), stale]),
      APIOperation(
        method: .post, path: "/v1/sign-out", tag: "sessions", summary: "End this session.", access: .session,
        answers: [.nothing]),
      APIOperation(
        method: .post, path: "/v1/session/confirm", tag: "sessions",
        summary:
          "Say that the session of this access token, of any audience and scope, was stored; any use of it says the same.",
        access: .session, answers: [.nothing]),
      APIOperation(
        method: .put, path: "/v1/device/push-token", tag: "sessions", summary: "Set or remove the push token.",
        access: .session,
        body: .json(
          S.object([
            "token": [
              "type": ["string", "null"], "minLength": 1, "maxLength": 4096, "pattern": "^[!-~]+$",
            ] as APIObject
          ])), answers: [.nothing]),
      APIOperation(
        method: .get, path: "/v1/events", tag: "sessions", summary: "The account's events, as server-sent events.",
        access: .session,
        parameters: [
          [
            "name": "Last-Event-ID", "in": "header", "required": false,
            "schema": S.string("The ID of the last event received.", ["pattern": "^[0-9]{1,18}$"]),
          ]
        ],
        answers: [
          APIAnswer(status: 200, content: .other(type: "text/event-stream")), .problem(400, "invalid_request"),
        ]),
    ]
  }
}
#endif
