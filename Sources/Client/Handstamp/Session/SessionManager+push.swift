public import Foundation
import HandstampCore
import HandstampSupport

extension SessionManager {
  /// Registers this device for push messages: the server gets the token for the session in use and for each new one, after a sign-in,
  /// an upgrade or a launch, also of the program's other accounts.
  ///
  /// ```swift
  /// func application(_ app: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
  ///   Task { try? await session.registerPushToken(token) }
  /// }
  /// ```
  /// The token is remembered in `UserDefaults.standard`, one for the installation, across sign-outs and also while no user is signed
  /// in. One that could not be sent is sent again by ``retryPendingWork()`` and at the next launch. The server forgets it with its
  /// session. An account whose session has not been requested in this launch, see ``Accounts/session(of:)``, gets it when it is.
  ///
  /// - Parameter token: as the system returned it. The server gets it in lower-case hexadecimal digits, as Apple's service expects
  ///   them. `nil` unregisters the device.
  /// - Throws: ``SessionError/unsupported(_:)`` without an ``AccountBackend``, and then nothing is remembered. Otherwise why the token
  ///   of the session in use could not be sent.
  public func registerPushToken(_ token: Data?) async throws(SessionError) { try await push.register(token) }
}

/// Passes the installation's push token on to the server of one session manager, for each of its sessions once.
@MainActor package final class PushDelivery {
  package var tokens = PushTokens.standard
  private let controller: SessionController
  private let backend: (any AccountBackend)?
  /// The token that the server has, and for which session.
  private var delivered: (session: SessionID, token: Secret)?
  /// One after the other, so that no older token follows a newer one.
  private var last: Task<Void, Never>?

  init(of controller: SessionController, at backend: any Backend) {
    self.controller = controller
    self.backend = backend as? any AccountBackend
  }

  func register(_ token: Data?) async throws(SessionError) {
    guard backend != nil else { throw .unsupported("account functions") }
    tokens.remember(token)
    for other in tokens.receivers where other !== self { other.begin() }
    try await deliver()
  }

  func sessionBegan() {
    guard backend != nil else { return }
    tokens.add(self)
    delivered = nil
    begin()
  }

  private func begin() {
    if tokens.token != nil { Task { try? await deliver() } }
  }

  private func deliver() async throws(SessionError) {
    let turn = Task { [last] () -> SessionError? in
      await last?.value
      do throws(SessionError) {
        try await send()
        return nil
      } catch {
        return error
      }
    }
    last = Task { _ = await turn.value }
    if let error = await turn.value { throw error }
  }

  private func send() async throws(SessionError) {
    guard let backend, let token = tokens.token, case .signedIn(let facts) = controller.state,
      delivered?.session != facts.id || delivered?.token != token
    else { return }
    do throws(SessionError) {
      // Without a presence check: it is no call of the user's.
      guard let access = try await controller.unguarded(SessionMachine.Need()).token else {
        throw .unsupported("push tokens (the session uses cookies)")
      }
      try await backend.registerPushToken(token.isEmpty ? nil : token, token: access)
      delivered = (facts.id, token)
    } catch {
      controller.retryOnce { [weak self] in await self?.begin() }
      if case .sessionEnded(let reason) = error { await controller.endHere(facts.id, reason: reason) }
      throw error
    }
  }
}

/// The push token of this installation, for all accounts of the program.
@MainActor package final class PushTokens {
  package static let standard = PushTokens(.standard)
  private static let key = "org.handstamp.push-token"

  private struct Receiver {
    weak var delivery: PushDelivery?
  }

  private let preferences: UserDefaults
  private var known: [Receiver] = []

  package init(_ preferences: UserDefaults) { self.preferences = preferences }

  /// In hexadecimal digits; empty once it was unregistered, of which sessions may still have to be told. `nil` if there never was one.
  package var token: Secret? { preferences.string(forKey: PushTokens.key).map { Secret($0) } }

  fileprivate func remember(_ token: Data?) {
    if token == nil, self.token == nil { return }
    preferences.set(Hexadecimal.text(token ?? Data()), forKey: PushTokens.key)
  }

  /// Those that have shown a session.
  fileprivate var receivers: [PushDelivery] { known.compactMap(\.delivery) }

  fileprivate func add(_ delivery: PushDelivery) {
    known.removeAll { $0.delivery == nil || $0.delivery === delivery }
    known.append(Receiver(delivery: delivery))
  }
}
