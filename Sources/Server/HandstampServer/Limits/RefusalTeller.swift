#if Server
import HandstampCore
import HandstampHTTP

/// Tells the rest of the refusals that were summed up, and all when the server stops: after its last request.
struct RefusalTeller: NamedService {
  let server: SessionServer

  func run() async throws { await everySecond { await tell(isEnd: $0) } }

  func tell(isEnd: Bool = false) async {
    let (server, now) = (server.current, server.now())
    for (refused, count) in server.lasting.refusedSignIns.rest(at: now, isEnd: isEnd) {
      await server.service.record(refused, count, from: refused.network, server.configuration.logger)
    }
    for (refused, count) in server.lasting.refusedRequests.rest(at: now, isEnd: isEnd) {
      refused.log(count, from: refused.network, to: server.configuration.logger)
    }
  }
}
#endif
