#if Server
import Hummingbird

/// The routes that compute little: their requests run on the event loop of their connection, without a change of threads. Others
/// would hold up the other connections there. It holds for all methods of their paths, which have no parameters.
enum PromptRoute: String, CaseIterable {
  case health = "/health"
  case introspection = "/oauth/introspect"
  case me = "/v1/me"
  case revocation = "/oauth/revoke"
  case sessions = "/v1/sessions"
  case token = "/oauth/token"
  case userInfo = "/oauth/userinfo"

  static func paths(below path: String) -> Set<Substring> { Set(allCases.map { Substring(path + $0.rawValue) }) }
}

extension RouterPath {
  static func prompt(_ route: PromptRoute) -> RouterPath { RouterPath(route.rawValue) }
}
#endif
