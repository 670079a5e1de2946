#if Server
import Foundation
import HTTPTypes

extension APIOperation {
  private typealias S = APISchema

  /// What administrators may do. Only a server with administrators has these paths.
  static var administration: [APIOperation] {
    let id = parameter("id", in: "path")
    let session = parameter("session", in: "path")
    let page = [
      parameter("after", in: "query"), parameter("limit", in: "query", S.string(nil, ["pattern": "^[0-9]{1,4}$"])),
    ]
    let count = S.object(["ended": S.integer])
    let code = S.object(["code": S.secret, "link": S.secret, "expires_at": S.instant], optional: ["link"])
    let any: APIObject = ["type": "object"]
    let missing = APIAnswer.problem(404, "not_found")
    let bad = APIAnswer.problem(400, "invalid_request")
    let gone = APIAnswer.problem(409, "account_deleted")
    let notOffered = APIAnswer.problem(403, "not_offered")
    let state = APIAnswer.problem(409, "account_deleted", "account_disabled", "no_address")
    func operation(
      _ method: HTTPRequest.Method, _ path: String, _ summary: String, _ parameters: [APIObject] = [],
      body: APIBody? = nil, _ answers: [APIAnswer]
    ) -> APIOperation {
      APIOperation(
        method: method, path: "/admin/v1/" + path, tag: "administration", summary: summary, access: .administrator,
        parameters: parameters, body: body, answers: answers)
    }
    let new = S.object(
      ["email": S.string(), "username": S.string(), "password": S.secret], optional: ["username", "password"])
    return [
      operation(
        .get, "accounts", "A page of accounts, or the one with an address.", page + [parameter("email", in: "query")],
        [.ok(S.object(["accounts": S.list(of: any), "next": S.string()], optional: ["next"])), bad, missing]),
      operation(
        .post, "accounts", "Create an account; without a password also a code that sets one.", body: .json(new),
        [
          .created(S.object(["account": any, "reset": code], optional: ["reset"])),
          .problem(400, "weak_password"), notOffered, .problem(409, "email_taken"),
        ]),
      operation(
        .get, "accounts/{id}", "An account and its sessions.", [id],
        [.ok(S.object(["account": any, "sessions": S.list(of: any)])), missing]),
      operation(
        .delete, "accounts/{id}", "Delete an account; its sessions end.", [id],
        [.ok(count), missing, gone]),
      operation(
        .post, "accounts/{id}/disable", "Disable an account; its sessions end.", [id],
        [.ok(count), missing, state]),
      operation(
        .post, "accounts/{id}/enable", "Enable a disabled account.", [id], [.nothing, missing, gone]),
      operation(
        .post, "accounts/{id}/reset", "Make a code that sets a new password.", [id],
        [.created(code), missing, state, notOffered]),
      operation(.get, "accounts/{id}/credentials", "The ways into an account.", [id], [.ok(any), missing]),
      operation(
        .post, "accounts/{id}/take-back",
        "Remove every way into an account; its sessions end, and a code sets a new password.",
        [id], body: .json(S.object(["email": S.string()], optional: ["email"]), isRequired: false),
        [
          .created(S.object(["ended": S.integer, "reset": code])), .problem(400, "invalid_request"), missing, state,
          notOffered, .problem(409, "email_taken"),
        ]),
      operation(
        .get, "accounts/{id}/export", "Everything stored about the owner of an account.", [id], [.ok(any), missing]),
      operation(
        .get, "accounts/{id}/sessions", "The sessions of an account.", [id],
        [.ok(S.object(["sessions": S.list(of: any)])), missing]),
      operation(
        .delete, "accounts/{id}/sessions", "End all sessions of an account.", [id], [.ok(count), bad, missing]),
      operation(
        .delete, "accounts/{id}/sessions/{session}", "End a session.", [id, session], [.ok(count), missing]),
      operation(.get, "clients", "The OAuth clients.", [], [.ok(S.object(["clients": S.list(of: any)]))]),
      operation(
        .get, "clients/{id}/logouts", "The ended sessions that a client was not told of yet.", [id],
        [.ok(S.object(["logouts": S.list(of: any)])), missing]),
      operation(
        .delete, "clients/{id}/sessions", "End all sessions of a client, and withdraw its consents.", [id],
        [.ok(count), bad]),
      operation(
        .get, "audit", "A page of the audit log.",
        page + [parameter("account", in: "query"), parameter("since", in: "query", S.instant)],
        [.ok(S.object(["audit": S.list(of: any), "next": S.integer], optional: ["next"])), bad]),
      operation(.get, "stats", "How many accounts, sessions and other rows there are.", [], [.ok(any)]),
    ]
  }

  private static func parameter(_ name: String, in place: String, _ schema: APIObject? = nil) -> APIObject {
    let isPath = place == "path"
    return [
      "name": name, "in": place, "required": isPath,
      "schema": schema ?? S.string(nil, isPath ? ["minLength": 1] : [:]),
    ]
  }
}
#endif
