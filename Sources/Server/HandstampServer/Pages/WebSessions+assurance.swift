#if Server
import HandstampRegistry
import Hummingbird

/// The strength of a browser's sign-in, as clients ask for it and the operator requires it.
extension WebSessions {
  /// Whether a browser's session is good for a client's request.
  enum Standing: Sendable {
    case good
    /// The user has to sign in again, and can do it as is needed.
    case signIn(PageNotice?)
    /// The account has nothing to prove it with. The client asked for more than the operator requires.
    case unmet
    /// The same, and the operator requires it: the user has to set up a second factor first.
    case setUp
  }

  /// - Parameter isForThis: whether the sign-in was made for this very request.
  func standing(
    of session: BrowserSession, for client: ConfiguredClient?, _ needs: PromptRequirements, isForThis: Bool
  ) async throws -> Standing {
    let required = try await service.requiredContext(of: session.account, for: client)
    let context = [needs.context, required].compactMap(\.self).max()
    guard session.methods.amount(to: context) else {
      if let context, let reachable = try await service.reachableContext(of: session.account), reachable >= context {
        return .signIn(.stronger(context))
      }
      return session.methods.amount(to: required) ? .unmet : .setUp
    }
    return needs.isMet(by: session, isForThis: isForThis, at: clock.now) ? .good : .signIn(nil)
  }

  /// Leads a user without a second factor to the page where one is set up.
  func setUpPage(_ visit: BrowserRequest) -> Response {
    show(
      .message(
        "second_factor", icon: "info",
        to: [
          PageAction(text: "action.set_up", href: pages.base + "/account/security"),
          PageAction(text: "action.try_again", href: visit.place.here, isPrimary: false),
        ]), visit)
  }
}
#endif
