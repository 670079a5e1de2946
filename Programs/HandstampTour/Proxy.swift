#if Operator && DEBUG
import HandstampCore
import HandstampServer
import HandstampSupport
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

@testable import HandstampCommand
@testable import HandstampCommandLine

/// The network between the tour's devices and its server. It forwards every request, counts the refreshes, and can hold or lose
/// a response.
final class Proxy: Sendable {
  /// The fate of the response to a refresh or a sign-in.
  enum Fate: Sendable {
    case arrives
    /// The connection breaks instead.
    case isLost
    /// The response is held here; `isHere` is set once the server has responded, that is, committed.
    case waits(isHere: OneShot<Void>, goOn: OneShot<Void>)
  }

  /// A refresh, as observed on the wire.
  struct Refresh: Sendable {
    var token: String
    var key: String
    /// `nil` until the server responds.
    var status: Int?
    var successor: String?
    var hasArrived = false
  }

  struct State {
    var target = ""
    var refreshes: [Refresh] = []
    var inTheAir = 0
    var openStreams = 0
    var mostInTheAir = 0
    var fates: [Fate] = []
    var signInFates: [Fate] = []
    var delay = Duration.zero
    /// Replaces `expires_in` in responses to refreshes; in seconds.
    var life: Int?
    /// Replaces every response to a refresh; the server gets no request.
    var refreshAnswer: TransportResponse?
    /// How many more times it does so.
    var refreshAnswersLeft = 0
    var secrets: Set<String> = []
  }
  let state = Locked(State())
  let transport = CommandTransport.make()
  let address = OneShot<String>()

  /// Sets the URL of the server.
  func lead(to target: String) { state.withLock { $0.target = target } }

  /// Sets the fate of the next refresh response.
  func nextAnswer(_ fate: Fate) { state.withLock { $0.fates.append(fate) } }

  /// Sets the fate of the next response to a password sign-in.
  func nextSignIn(_ fate: Fate) { state.withLock { $0.signInFates.append(fate) } }

  /// Delays every refresh response.
  func delayAnswers(by delay: Duration) { state.withLock { $0.delay = delay } }

  /// Sets the token lifetime that clients see from now on, in seconds; `nil` for the server's own.
  func saysTokensLast(_ seconds: Int?) { state.withLock { $0.life = seconds } }

  /// Sets the response to the next `count` refreshes, or all from now on, in place of the server's; `nil` for the server's own.
  func answersRefreshes(with answer: TransportResponse?, times count: Int = .max) {
    state.withLock { state in
      state.refreshAnswer = answer
      state.refreshAnswersLeft = count
    }
  }

  /// Resets the counts.
  func forget() {
    state.withLock { state in
      state.refreshes = []
      state.mostInTheAir = state.inTheAir
    }
  }

  var refreshes: [Refresh] { state.withLock { $0.refreshes } }
  var mostInTheAir: Int { state.withLock { $0.mostInTheAir } }
  /// The number of live feeds that are open at both ends.
  var openStreams: Int { state.withLock { $0.openStreams } }
  var inTheAir: Int { state.withLock { $0.inTheAir } }
  /// Every token, key and password seen.
  var secrets: Set<String> { state.withLock { $0.secrets } }

  /// Forwards requests until its task is cancelled.
  func run() async throws {
    let logger = Logger(label: "wire") { _ in SwiftLogNoOpLogHandler() }
    let application = Application(
      responder: self, server: .sturdyHTTP1(),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { [address] channel in address.set("http://127.0.0.1:\(channel.localAddress?.port ?? 0)") },
      logger: logger)
    let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [application], logger: logger))
    try await group.run()
  }
}

/// The context of a request, with its connection.
struct WireContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }
}
#endif
