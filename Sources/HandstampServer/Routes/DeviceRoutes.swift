#if Server
import Foundation
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird

extension SessionServer {
  /// `PATCH /v1/sessions/{id}`: renames one of the account's devices.
  @concurrent func renameSession(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, context)
    let id = try context.sessionID
    let body = try await request.json(as: NameBody.self, upTo: configuration.bodyLimit)
    let row: SessionRow
    do throws(RegistryError) {
      row = try await registry.rename(id, of: bearer.account, to: body.name, now: now())
    } catch {
      throw problem(error, context)
    }
    return .json(row.description(current: bearer.session))
  }

  /// `PUT /v1/device/push-token`: sets or removes the push token of this device. It is never shown again.
  @concurrent func setPushToken(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, context)
    let body = try await request.json(as: PushTokenBody.self, upTo: configuration.bodyLimit)
    do throws(RegistryError) {
      try await registry.setPushToken(body.token, for: bearer.session, of: bearer.account, now: now())
    } catch {
      throw problem(error, context)
    }
    return .nothing
  }
}

extension ServerContext {
  /// The session ID in the path, percent-decoded (RFC 3986 section 2.1).
  var sessionID: SessionID {
    get throws(Problem) {
      guard let id = parameters.get("id")?.removingPercentEncoding else { throw .notFound }
      return SessionID(id)
    }
  }
}
#endif
