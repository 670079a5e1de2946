#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import NIOCore
import Testing

@testable import HandstampServer

/// Drops the responses to refreshes: the server has done its work, then the connection breaks.
private final class AnswerThief: RouterMiddleware {
  typealias Context = ServerContext
  private let left = Locked(0)
  private let inTheAir = Locked((now: 0, most: 0))

  var mostInTheAir: Int { inTheAir.withLock { $0.most } }
  func loseNext(_ count: Int) { left.withLock { $0 = count } }

  func handle(
    _ request: Request, context: ServerContext,
    next: @concurrent (Request, ServerContext) async throws -> Response
  ) async throws -> Response {
    inTheAir.withLock {
      $0.now += 1
      $0.most = max($0.most, $0.now)
    }
    defer { inTheAir.withLock { $0.now -= 1 } }
    let response = try await next(request, context)
    guard request.uri.path == "/oauth/token" else { return response }
    let loses = left.withLock { left in
      defer { left = max(0, left - 1) }
      return left > 0
    }
    if loses { try? await context.channel.close() }
    return response
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A response lost on the wire` {
  @Test func `is repeated with the same successor`() async throws {
    let thief = AnswerThief()
    try await TestServer.run(middlewares: [thief]) { test in
      let session = try await test.signUp()
      let key = RotationKey.fresh
      thief.loseNext(3)
      for lost in 1...3 {
        await #expect(throws: (any Error).self) { try await test.refresh(session.refresh, key: key) }
        #expect(test.metrics.rotations == 1)
        #expect(test.metrics.repeats == lost - 1)
      }
      let answer = try await test.refresh(session.refresh, key: key)
      #expect(answer.status == 200)
      #expect(test.metrics.rotations == 1)
      let successor: String = try #require(answer.json["refresh_token"])
      #expect(try await test.refresh(successor, key: .fresh).status == 200)
      #expect(thief.mostInTheAir >= 1)
    }
  }
}
#endif
