#if Operator && DEBUG

@testable import HandstampCommand
@testable import HandstampCommandLine
/// One step of the tour.
struct Step: Sendable {
  var title: String
  /// Runs the step, and returns the result for the table.
  var run: @Sendable (TourFixture) async throws -> String

  static let all: [Step] = [
    Step(title: "sign up, sign in, a request", run: signUp),
    Step(title: "1,000 tasks at expiry", run: thousandTasks),
    Step(title: "20 processes at expiry", run: twentyProcesses),
    Step(title: "a response is lost on the wire", run: lostAnswer),
    Step(title: "a client is killed before it saves", run: killedClient),
    Step(title: "the server is killed under load", run: killedServer),
    Step(title: "a second device comes and goes", run: secondDevice),
    Step(title: "a thief with a copied token", run: thief),
    Step(title: "a server without rotation keys", run: serverOfOthers),
    Step(title: "sign-out, even without a server", run: signOut),
  ]
}
#endif
