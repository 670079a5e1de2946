#if Server
import HandstampSupport
import HTTPTypes
import Hummingbird

/// The routes of a server, collected like a router does, without serving anything.
final class RouteTable: RouterMethods, Sendable {
  typealias Context = ServerContext

  private struct Route {
    var path: [Substring]
    var methods: [HTTPRequest.Method] = []
    var isPrompt = false
  }

  private let routes = Locked<[Route]>([])
  /// Whether the routes that are being added compute little.
  @TaskLocal fileprivate static var isPrompt: Bool = false

  func on<Responder: HTTPResponder>(
    _ path: RouterPath, method: HTTPRequest.Method, responder: Responder
  ) -> Self where Responder.Context == Context {
    let path = path.description.split(separator: "/")
    routes.withLock { routes in
      let known = routes.firstIndex { $0.path == path }
      if known == nil { routes.append(Route(path: path)) }
      let index = known ?? routes.count - 1
      routes[index].methods.append(method)
      routes[index].isPrompt = routes[index].isPrompt || RouteTable.isPrompt
    }
    return self
  }

  func add(middleware: any MiddlewareProtocol<Request, Response, Context>) -> Self { self }

  /// Every route: its path, with parameters such as `{id}`, and its methods.
  var all: [(path: String, methods: [HTTPRequest.Method])] {
    routes.withLock { routes in routes.map { ("/" + $0.path.joined(separator: "/"), $0.methods) } }
  }

  /// The paths whose requests compute little, see ``prompt(_:)``.
  var promptPaths: Set<Substring> {
    routes.withLock { routes in
      Set(routes.filter(\.isPrompt).map { Substring("/" + $0.path.joined(separator: "/")) })
    }
  }

  /// Returns the value of the `Allow` field (RFC 9110 section 15.5.6), or `nil` if the path has no route.
  func methods(at path: String) -> String? {
    let parts = path.split(separator: "/")
    let matching = routes.withLock { routes in
      routes.filter { route in
        route.path.count == parts.count
          && zip(route.path, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
      }
    }
    // A path of its own goes before one with parameters.
    guard let best = matching.map({ $0.path.count { $0.hasPrefix("{") } }).min() else { return nil }
    return matching.filter { $0.path.count { $0.hasPrefix("{") } == best }.flatMap(\.methods).map(\.rawValue).joined(
      separator: ", ")
  }
}

extension RouterMethods {
  /// Adds routes that compute little: their requests run on the event loop of their connection, without a change of threads. Others
  /// would hold up the other connections there. It holds for all methods of their paths, which have no parameters.
  func prompt(_ add: (Self) -> Void) { RouteTable.$isPrompt.withValue(true) { add(self) } }
}
#endif
