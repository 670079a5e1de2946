#if Programs
import HandstampAsyncHTTP
import HandstampCore
import HandstampServer
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

/// The network between the tour's devices and its server. It carries every request, counts the refreshes, and can hold an
/// answer or lose it on its way.
final class Wire: Sendable {
  /// What becomes of an answer to a refresh or a sign-in.
  enum Fate: Sendable {
    case arrives
    /// The connection breaks instead.
    case isLost
    /// It waits here; `isHere` happens when the server has answered, that is, committed.
    case waits(isHere: OneShot<Void>, goOn: OneShot<Void>)
  }

  /// One refresh, as it was seen going by.
  struct Refresh: Sendable {
    var token: String
    var key: String
    /// Nothing while the server has not answered.
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
    /// What answers to refreshes say of a token's life, instead of what the server says; in seconds.
    var expiresIn: Int?
    /// Takes the place of every answer to a refresh, and the server is not asked.
    var refreshAnswer: TransportResponse?
    var secrets: Set<String> = []
  }
  let state = Locked(State())
  let transport = AsyncHTTPTransport()
  let address = OneShot<String>()

  /// Where the server is.
  func lead(to target: String) { state.withLock { $0.target = target } }

  /// The next answer to a refresh has this fate.
  func nextAnswer(_ fate: Fate) { state.withLock { $0.fates.append(fate) } }

  /// The next answer to a sign-in with a password has this fate.
  func nextSignIn(_ fate: Fate) { state.withLock { $0.signInFates.append(fate) } }

  /// Every answer to a refresh takes so much longer.
  func delayAnswers(by delay: Duration) { state.withLock { $0.delay = delay } }

  /// Tokens are good for so many seconds from here on, as far as clients are told; nothing: as the server says.
  func saysTokensLast(_ seconds: Int?) { state.withLock { $0.expiresIn = seconds } }

  /// Every refresh is answered so from here on, in the server's place; `nil`: by the server.
  func answersRefreshes(with answer: TransportResponse?) { state.withLock { $0.refreshAnswer = answer } }

  /// Begins to count anew.
  func forget() {
    state.withLock { state in
      state.refreshes = []
      state.mostInTheAir = state.inTheAir
    }
  }

  var refreshes: [Refresh] { state.withLock { $0.refreshes } }
  var mostInTheAir: Int { state.withLock { $0.mostInTheAir } }
  /// Live feeds that are open at both ends.
  var openStreams: Int { state.withLock { $0.openStreams } }
  var inTheAir: Int { state.withLock { $0.inTheAir } }
  /// Every token, key and password that went by.
  var secrets: Set<String> { state.withLock { $0.secrets } }

  /// Carries requests until its task is cancelled.
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

/// A request on the wire, and the connection that it came by.
struct WireContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }
}
#endif
