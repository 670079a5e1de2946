import Foundation
import Handstamp
import HandstampCore
import HandstampSupport
import HandstampTesting
import HandstampUI
import HandstampVaults
import Observation

let base = URL(fileURLWithPath: "/nowhere")

/// A service with scripted answers, each given when its gate opens.
@MainActor final class ScriptedAuth: AuthService {
  var error: SessionError?
  var signUpResult = SignUpResult.confirmationSent
  var gate: Gate?
  private(set) var calls: [String] = []

  private func answer(_ call: String) async throws(SessionError) {
    calls.append(call)
    let error = error
    await gate?.wait()
    if let error { throw error }
  }

  func signIn(email: String, password: String, remember: Bool) async throws(SessionError) {
    try await answer("signIn \(email) \(password) \(remember)")
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

  func signInWithApple(idToken: Secret, nonce: String, remember: Bool) async throws(SessionError) {
    try await answer("apple \(idToken.withExposed { $0 }) \(nonce.count) \(remember)")
  }

  func signInWithPasskey(
    remember: Bool, asking ask: @escaping @concurrent @Sendable ([UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) {
    let text = String(decoding: try await ask(Array("options".utf8)), as: UTF8.self)
    try await answer("passkey \(text) \(remember)")
  }

  func resetPassword(email: String) async throws(SessionError) { try await answer("reset \(email)") }
}

/// A scripted sheet for passkeys.
struct ScriptedPasskeys: PasskeySource {
  let result: Result<String, SessionError>

  @concurrent func answer(to options: [UInt8]) async throws(SessionError) -> [UInt8] {
    Array("\(try result.get()) to \(String(decoding: options, as: UTF8.self))".utf8)
  }
}

/// A scripted Apple sheet.
final class ScriptedApple: AppleCredentialSource {
  let hashes = Locked<[String]>([])
  private let result: Result<AppleCredential, SessionError>
  init(_ result: Result<AppleCredential, SessionError>) { self.result = result }

  @concurrent func request(nonceHash: String) async throws(SessionError) -> AppleCredential {
    hashes.withLock { $0.append(nonceHash) }
    return try result.get()
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

  @concurrent func reauthenticate(password: Secret) async throws(SessionError) {
    let isRight = content.withLock { content in
      guard content.password == password else { return false }
      content.error = nil
      return true
    }
    guard isRight else { throw .refused(code: "wrong_credentials", detail: nil) }
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

  func remove(_ id: AccountID) async throws(SessionError) {
    await gate?.wait()
    if let error { throw error }
    accounts.removeAll { $0.id == id }
    if activeID == id { activeID = nil }
  }
}

/// Waits until `isWanted` holds, checking after every observed change.
@MainActor func wait(until isWanted: @escaping @MainActor () -> Bool) async {
  while !isWanted() {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      withObservationTracking {
        _ = isWanted()
      } onChange: {
        continuation.resume()
      }
    }
    await othersFirst()
  }
}
