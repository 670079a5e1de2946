#if Server
import Hummingbird

/// The files of the pages.
struct AssetsController: Sendable {
  let pages: PageWriter

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/assets/:name") { _, context in
      guard let name = context.parameters.get("name") else { throw ProblemError.notFound }
      return try pages.assets.response(name)
    }
  }
}
#endif
