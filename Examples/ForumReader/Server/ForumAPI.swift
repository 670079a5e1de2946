#if Programs
import Foundation
import HTTPTypes
import HandstampSupport
import Hummingbird
import NIOCore

/// The forum for an app: JSON, with tokens in place of the cookie.
///
/// The access token of a sign-in is good for three requests, so that a refresh follows soon.
struct ForumAPI: Sendable {
  let world: ForumWorld
  private let tokens = Locked<[String: (session: String, left: Int)]>([:])

  init(world: ForumWorld) { self.world = world }

  func add(to router: Router<BasicRequestContext>) {
    router.post("/api/login") { request, _ in
      let fields = await members(of: request)
      guard let found = world.signIn(fields["email"] ?? "", fields["password"] ?? "") else {
        return refusal("wrong_credentials")
      }
      return pair(found.session, of: found.person, goodFor: 3)
    }
    router.post("/api/refresh") { request, _ in
      guard let session = await members(of: request)["refresh_token"], let person = world.person(session),
        let next = world.signIn(person.name, person.password)
      else { return refusal("invalid_refresh_token") }
      world.signOut(session)
      return pair(next.session, of: person, goodFor: .max)
    }
    router.post("/api/logout") { request, _ in
      if let session = await members(of: request)["refresh_token"] { world.signOut(session) }
      return Response(status: .noContent)
    }
    router.get("/api/me") { request, _ in signedIn(request) { ["name": $0.name] } }
    router.get("/api/config") { request, _ in signedIn(request) { _ in ["theme": "dark"] } }
  }

  private func signedIn(_ request: Request, _ answer: (ForumWorld.Person) -> [String: String]) -> Response {
    let token = String((request.headers[.authorization] ?? "").dropFirst("Bearer ".count))
    let session = tokens.withLock { tokens -> String? in
      guard let found = tokens[token], found.left > 0 else { return nil }
      tokens[token]?.left -= 1
      return found.session
    }
    guard let person = world.person(session) else { return refusal("token_expired") }
    return json(answer(person))
  }

  private func pair(_ session: String, of person: ForumWorld.Person, goodFor requests: Int) -> Response {
    let token = UUID().uuidString
    tokens.withLock { $0[token] = (session, requests) }
    return json([
      "access_token": token, "refresh_token": session, "user_id": String(person.id), "user_name": person.name,
    ])
  }

  private func refusal(_ code: String) -> Response { json(["code": code], status: .unauthorized) }

  private func json(_ members: [String: String], status: HTTPResponse.Status = .ok) -> Response {
    let body = (try? JSONEncoder().encode(members)) ?? Data()
    return Response(
      status: status, headers: [.contentType: "application/json"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }

  private func members(of request: Request) async -> [String: String] {
    guard let body = try? await request.body.collect(upTo: 64 << 10) else { return [:] }
    return (try? JSONDecoder().decode([String: String].self, from: Data(body.readableBytesView))) ?? [:]
  }
}
#endif
