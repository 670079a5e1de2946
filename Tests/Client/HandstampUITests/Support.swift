import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import HandstampUI
import Observation

let base = URL(fileURLWithPath: "/nowhere")

/// Preferences in memory, of one test.
final class Preferences: UserDefaults {
  private let values = Locked<[String: any Sendable]>([:])

  override func object(forKey name: String) -> Any? { values.withLock { $0[name] } }
  override func string(forKey name: String) -> String? { values.withLock { $0[name] as? String } }
  override func removeObject(forKey name: String) { values.withLock { $0[name] = nil } }
  override func set(_ value: Bool, forKey name: String) { values.withLock { $0[name] = value } }

  override func set(_ value: Any?, forKey name: String) {
    let text = value as? String
    values.withLock { $0[name] = text }
  }

  var all: String { values.withLock { "\($0)" } }
}

extension AuthViewModel {
  /// With preferences of its own.
  convenience init(
    fresh service: any AuthService, apple: (any AppleCredentialSource)? = nil,
    passkeys: (any PasskeySource)? = nil, biometric: BiometricSecret? = nil
  ) {
    self.init(service, apple: apple, passkeys: passkeys, biometric: biometric, preferences: Preferences())
  }
}

/// A service with scripted answers, each given when its gate opens.
@MainActor final class ScriptedAuth: AuthService {
  var error: SessionError?
  var signUpResult = SignUpResult.confirmationSent
  var gate: Gate?
  /// The options of a sign-in with a passkey.
  var options = "options"
  private(set) var calls: [String] = []
  var offer = SignInOffer(identifier: .email, accounts: true, browser: false)
  var isAnonymous = false
  var losesGuest = false
  var currentSession: SignedIn?

  private func answer(_ call: String) async throws(SessionError) {
    calls.append(call)
    let error = error
    await gate?.wait()
    if let error { throw error }
  }

  func signIn(
    email: String, password: String, code: String?, by method: SignInMethod, remember: Bool
  ) async throws(SessionError) {
    let how = method == .password ? "" : "\(method) "
    try await answer("signIn \(how)\(email) \(password) \(code.map { $0 + " " } ?? "")\(remember)")
  }

  func signInWithBrowser(_ page: BrowserPage, remember: Bool) async throws(SessionError) {
    try await answer("browser \(page.redirectURI) \(remember)")
  }

  func upgrade(by way: GuestUpgrade) async throws(SessionError) -> SignUpResult {
    switch way {
    case .password(let email, _, let username): try await answer("upgrade \(email) \(username)")
    case .apple(let credential): try await answer("upgrade apple \(credential.name ?? "-")")
    case .passkey(let email, let username, let ask):
      let text = String(decoding: try await ask(Array("new options".utf8)), as: UTF8.self)
      try await answer("upgrade \(email) \(username) \(text)")
    }
    return signUpResult
  }

  func signUp(
    email: String, password: String, username: String, remember: Bool
  ) async throws(SessionError) -> SignUpResult {
    try await answer("signUp \(email) \(username) \(remember)")
    return signUpResult
  }

  func confirmSignUp(_ code: String, password: String, remember: Bool) async throws(SessionError) {
    try await answer("confirm \(code) \(password) \(remember)")
  }

  func signInAnonymously() async throws(SessionError) { try await answer("guest") }

  func signInWithApple(
    _ credential: AppleCredential, upgradesGuest: Bool, remember: Bool
  ) async throws(SessionError) {
    let way = isAnonymous ? " \(upgradesGuest ? "upgrade" : "there")" : ""
    try await answer(
      "apple \(credential.idToken.withExposed { $0 }) \(credential.nonce.count)\(way) \(remember)")
  }

  func signInWithPasskey(remember: Bool, asking ask: @escaping PasskeyPrompt) async throws(SessionError) {
    let text = String(decoding: try await ask(Array(options.utf8)), as: UTF8.self)
    try await answer("passkey \(text) \(remember)")
  }

  func addPasskey(proof: AccessToken?, asking ask: PasskeyPrompt) async throws(SessionError) -> PasskeyList {
    let text = String(decoding: try await ask(Array("new options".utf8)), as: UTF8.self)
    try await answer("add \(text)")
    return ScriptedPasskeyList.of("new")
  }

  func resetPassword(email: String) async throws(SessionError) { try await answer("reset \(email)") }
}

/// Scripted passkeys of a device: each kind of request is answered, or refused as by a system that does not have it.
struct ScriptedPasskeys: PasskeySource {
  let results: [PasskeyRequest: Result<String, SessionError>]
  /// Opened when the user takes the offer above the keyboard.
  var taken: Gate?
  let signals = Locked<[PasskeySignal]>([])

  init(
    result: Result<String, SessionError>, offer: Result<String, SessionError> = .failure(.unsupported("passkeys")),
    taken: Gate? = nil, add: Result<String, SessionError> = .failure(.unsupported("passkeys"))
  ) {
    results = [.signIn: result, .offer: offer, .add: add, .upgrade: add]
    self.taken = taken
  }

  @concurrent func answer(to options: [UInt8], for request: PasskeyRequest) async throws(SessionError) -> [UInt8] {
    if request == .offer { await taken?.wait() }
    if Task.isCancelled { throw .cancelled }
    guard let answer = try results[request]?.get() else { throw .unsupported("passkeys") }
    return Array((answer.hasPrefix("{") ? answer : "\(answer) to \(String(decoding: options, as: UTF8.self))").utf8)
  }

  @concurrent func report(_ signal: PasskeySignal) async { signals.withLock { $0.append(signal) } }
}

enum ScriptedPasskeyList {
  static func of(_ ids: String...) -> PasskeyList {
    PasskeyList(
      passkeys: ids.map { .init(id: $0, name: "Key \($0)", createdAt: UnixTime(milliseconds: 0)) },
      domain: "example.org", user: [1])
  }
}

/// The passkeys of an account in memory.
@MainActor final class ScriptedPasskeyAccount: PasskeysService {
  var ids = ["one", "two"]
  var error: SessionError?
  /// Whether a proof is asked for.
  var asksForProof = false
  /// Whether the code of an authenticator app is asked for with the password.
  var asksForCode = false
  private(set) var codes: [Secret?] = []
  private(set) var calls: [String] = []

  private func list(_ proof: AccessToken?) throws(SessionError) -> PasskeyList {
    if asksForProof, proof != AccessToken("proof") { throw .refused(code: "reauthentication_required", detail: nil) }
    if let error { throw error }
    return PasskeyList(
      passkeys: ids.map { .init(id: $0, name: $0, createdAt: UnixTime(milliseconds: 0)) }, domain: "example.org",
      user: [1])
  }

  func passkeys() async throws(SessionError) -> PasskeyList { try list(AccessToken("proof")) }

  func addPasskey(proof: AccessToken?, asking ask: PasskeyPrompt) async throws(SessionError) -> PasskeyList {
    _ = try list(proof)
    ids.append(String(decoding: try await ask(Array("options".utf8)), as: UTF8.self))
    return try list(proof)
  }

  func removePasskey(_ id: String, proof: AccessToken?) async throws(SessionError) -> PasskeyList {
    _ = try list(proof)
    ids.removeAll { $0 == id }
    return try list(proof)
  }

  func reauthenticate(_ proof: Proof) async throws(SessionError) -> AccessToken {
    switch proof {
    case .password(Secret("right"), let code):
      codes.append(code)
      if asksForCode, code == nil { throw .refused(code: "second_factor_required", detail: nil) }
    case .passkey(let ask): _ = try await ask(Array("options".utf8))
    default: throw .refused(code: "wrong_credentials", detail: nil)
    }
    return AccessToken("proof")
  }
}

/// A scripted Apple sheet.
final class ScriptedApple: AppleCredentialSource {
  let hashes = Locked<[String]>([])
  private let result: Result<AppleCredential, SessionError>
  init(_ result: Result<AppleCredential, SessionError>) { self.result = result }

  @concurrent func request(_ nonce: AppleNonce) async throws(SessionError) -> AppleCredential {
    hashes.withLock { $0.append(nonce.hash) }
    var credential = try result.get()
    credential.nonce = nonce.raw
    return credential
  }
}

/// Devices in memory.
final class ScriptedDevices: DevicesService {
  struct Content: Sendable {
    var list: [DeviceSession] = []
    var error: SessionError?
    var gate: Gate?
    var loads = 0
    /// The password that is asked for before devices are signed out.
    var password: Secret?
    /// Whether the code of an authenticator app is asked for with it.
    var asksForCode = false
    var codes: [Secret?] = []
  }
  let content = Locked(Content())
  private let stream: AsyncStream<Void>
  let change: AsyncStream<Void>.Continuation

  init(_ list: [DeviceSession]) {
    (stream, change) = AsyncStream.makeStream(of: Void.self)
    content.withLock { $0.list = list }
  }

  @concurrent func devices() async throws(SessionError) -> [DeviceSession] {
    let (list, error, gate) = content.withLock { content in
      content.loads += 1
      return (content.list, content.error, content.gate)
    }
    await gate?.wait()
    if let error { throw error }
    return list
  }

  @concurrent func end(_ session: SessionID) async throws(SessionError) {
    let (error, gate) = content.withLock { ($0.error, $0.gate) }
    await gate?.wait()
    if let error { throw error }
    content.withLock { $0.list.removeAll { $0.id == session } }
  }

  @concurrent func endOthers() async throws(SessionError) {
    let (error, gate) = content.withLock { ($0.error, $0.gate) }
    await gate?.wait()
    if let error { throw error }
    content.withLock { $0.list.removeAll { !$0.isCurrent } }
  }

  @concurrent func reauthenticate(_ proof: Proof) async throws(SessionError) {
    let refusal = content.withLock { content -> String? in
      guard let right = content.password, case .password(right, let code) = proof else { return "wrong_credentials" }
      content.codes.append(code)
      if content.asksForCode, code == nil { return "second_factor_required" }
      content.error = nil
      return nil
    }
    if let refusal { throw .refused(code: refusal, detail: nil) }
  }

  func changes() -> AsyncStream<Void> { stream }
}

/// A scripted list of accounts.
@MainActor @Observable final class ScriptedAccounts: AccountsService {
  var accounts: [ListedAccount] = []
  var activeID: AccountID?
  var isLoaded = false
  var storageError: VaultError?
  @ObservationIgnored var error: SessionError?
  @ObservationIgnored var gate: Gate?

  func activate(_ id: AccountID) async throws(SessionError) {
    await gate?.wait()
    if let error { throw error }
    activeID = id
  }

  func removeAccount(_ id: AccountID) async throws(SessionError) {
    await gate?.wait()
    if let error { throw error }
    accounts.removeAll { $0.id == id }
    if activeID == id { activeID = nil }
  }
}
