#if Server
import Foundation
import HTTPTypes

extension APIOperation {
  private typealias S = APISchema

  /// The OAuth endpoints.
  static var oauth: [APIOperation] {
    let client: APIObject = ["client_id": S.string(), "client_secret": S.secret]
    func form(_ required: APIObject, _ optional: APIObject = [:]) -> APIBody {
      .form(
        S.object(
          required.merging(optional) { $1 }.merging(client) { $1 },
          optional: Set(optional.keys).union(client.keys)))
    }
    let proof: APIObject = [
      "name": "DPoP", "in": "header", "required": false, "schema": S.string("A proof (RFC 9449 section 4.2)."),
    ]
    return [
      APIOperation(
        method: .post, path: "/oauth/token", tag: "oauth", summary: "Exchange a refresh token or a code for tokens.",
        access: .client, parameters: [proof],
        body: form(
          ["grant_type": S.choice(["refresh_token", "authorization_code", deviceCode])],
          [
            "refresh_token": S.secret, "rotation_key": S.secret, "code": S.secret, "redirect_uri": S.string(),
            "code_verifier": S.secret, "device_code": S.secret, "scope": S.string(), "resource": S.string(),
          ]),
        answers: [
          .ok(S.named("Tokens")),
          .oauth(
            400, "unsupported_grant_type", "unauthorized_client", "invalid_scope", "invalid_target",
            "invalid_dpop_proof", "use_dpop_nonce", "slow_down", "authorization_pending", "access_denied",
            "expired_token"),
          .oauth(401, "use_dpop_nonce", "invalid_dpop_proof"),
        ]),
      APIOperation(
        method: .post, path: "/oauth/revoke", tag: "oauth", summary: "End the session of a token (RFC 7009).",
        access: .client, body: form(["token": S.secret], ["token_type_hint": S.string()]), answers: [.ok(S.object([:]))]
      ),
      APIOperation(
        method: .post, path: "/oauth/introspect", tag: "oauth", summary: "Describe a token (RFC 7662).",
        access: .client, body: form(["token": S.secret], ["token_type_hint": S.string()]),
        answers: [
          .ok(
            S.object(
              [
                "active": S.boolean, "scope": S.string(), "client_id": S.string(), "token_type": S.string(),
                "exp": S.integer, "iat": S.integer, "auth_time": S.integer, "sub": S.string(), "aud": APIObject(),
                "iss": S.string(),
                "jti": S.string(), "sid": S.string(), "cnf": ["type": "object"] as APIObject,
                "username": S.string(), "name": S.string(), "preferred_username": S.string(), "email": S.string(),
                "email_verified": S.boolean,
              ],
              optional: [
                "scope", "client_id", "token_type", "exp", "iat", "auth_time", "sub", "aud", "iss", "jti", "sid", "cnf",
                "username", "name", "preferred_username", "email", "email_verified",
              ]))
        ]),
      APIOperation(
        method: .get, path: "/v1/revocations", tag: "oauth",
        summary: "The sessions that have ended, as server-sent events, for verifiers of access tokens.",
        access: .client,
        parameters: [
          [
            "name": "Last-Event-ID", "in": "header", "required": false,
            "schema": S.string("The ID of the last event received."),
          ]
        ],
        answers: [
          APIAnswer(status: 200, content: .other(type: "text/event-stream")), .problem(401, "invalid_client"),
          .problem(403, "not_offered"),
        ]),
      APIOperation(
        method: .post, path: "/oauth/par", tag: "oauth",
        summary: "Send an authorization request beforehand (RFC 9126).",
        access: .client,
        body: form(
          [
            "response_type": S.choice(["code"]), "redirect_uri": S.string(), "code_challenge": S.string(),
            "code_challenge_method": S.choice(["S256"]),
          ],
          ["scope": S.string(), "state": S.string(), "nonce": S.string(), "prompt": S.string(), "resource": S.string()]),
        answers: [
          APIAnswer(
            status: 201, content: .json(S.object(["request_uri": S.string(), "expires_in": S.integer]))),
          .oauth(400, "unauthorized_client", "invalid_scope", "invalid_target", "unsupported_response_type"),
        ]),
      APIOperation(
        method: .get, path: "/oauth/userinfo", tag: "oauth",
        summary: "Claims about the user (OpenID Connect Core 5.3).",
        access: .session, answers: [.ok(S.named("UserInfo"))]),
      APIOperation(
        method: .post, path: "/oauth/userinfo", tag: "oauth", summary: "The same, for clients that prefer POST.",
        access: .session, answers: [.ok(S.named("UserInfo")), .problem(400, "invalid_request")]),
      APIOperation(
        method: .post, path: "/oauth/device_authorization", tag: "oauth",
        summary: "Begin a sign-in on another device (RFC 8628).", access: .client,
        body: form([:], ["scope": S.string(), "resource": S.string()]),
        answers: [
          .ok(
            S.object([
              "device_code": S.secret, "user_code": S.string(), "verification_uri": S.string(),
              "verification_uri_complete": S.string(), "expires_in": S.integer, "interval": S.integer,
            ])), .oauth(400, "unauthorized_client", "invalid_scope", "invalid_target"),
        ]),
    ]
  }

  private static let deviceCode = "urn:ietf:params:oauth:grant-type:device_code"

  /// Documents that anyone may read.
  ///
  /// - Parameter metadata: the path of the authorization server metadata.
  static func documents(metadata: String) -> [APIOperation] {
    let object: APIObject = ["type": "object"]
    func document(_ path: String, _ summary: String, _ schema: APIObject = object, _ more: [APIAnswer] = [])
      -> APIOperation
    {
      APIOperation(
        method: .get, path: path, tag: "documents", summary: summary,
        answers: [.ok(schema), APIAnswer(status: 304, content: .none)] + more)
    }
    let status = S.object(["status": S.string()])
    return [
      document("/v1/app-config", "The operator's configuration of apps."),
      document("/.well-known/jwks.json", "The keys of access tokens (RFC 7517)."),
      document(metadata, "The authorization server metadata (RFC 8414)."),
      document(
        "/.well-known/openid-configuration", "The same document, for clients of OpenID Connect (Discovery 1.0)."),
      document("/openapi.json", "This document."),
      document("/health", "Whether the process answers.", S.status("ok")),
      APIOperation(
        method: .get, path: "/ready", tag: "documents", summary: "Whether the store can be read and written.",
        answers: [.ok(status), APIAnswer(status: 503, content: .json(status))]),
      document(
        "/v1/client-address", "The address that limits count by.",
        S.object(
          ["address": S.string(), "network": S.string(), "source": S.choice(["connection", "proxy"])],
          optional: ["address", "network"])),
    ]
  }
}

#endif
