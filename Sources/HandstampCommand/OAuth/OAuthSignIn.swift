#if Programs
import Foundation
import Handstamp
import HandstampAsyncHTTP
import HandstampCore
import HandstampLoopback
import HandstampOAuth

/// A sign-in by OAuth at a terminal.
struct OAuthSignIn: Sendable {
  enum Way: Sendable { case browser, device }

  let backend: OAuthBackend
  let record: OAuthRecord

  /// Finds out what the server offers.
  ///
  /// - Parameter scopes: what is asked for; nothing for what most programs need, as far as the server knows it.
  init(issuer: String, client: String, scopes: [String]) async throws(SessionError) {
    let finding = OAuthBackend(OAuthClient(issuer: issuer, id: client), transport: AsyncHTTPTransport.shared)
    let known = try await finding.metadata().scopes
    let usual = ["openid", "profile", "email", "offline_access"].filter { known?.contains($0) ?? ($0 != "email") }
    record = OAuthRecord(issuer: issuer, client: client, scopes: scopes.isEmpty ? usual : scopes)
    backend = OAuthBackend(record.settings, transport: AsyncHTTPTransport.shared)
  }

  /// The way that nobody named: a browser where there may be one.
  func usualWay() async throws(SessionError) -> Way {
    let metadata = try await backend.metadata()
    if metadata.authorizationEndpoint != nil, metadata.deviceAuthorizationEndpoint == nil || Browser.isLikely {
      return .browser
    }
    return .device
  }

  /// - Parameter patience: how long to wait for the person; nothing for as long as that makes sense.
  func signIn(by way: Way, opening: Bool, within patience: Duration?) async throws(SessionError) -> Grant {
    switch way {
    case .device: return try await onAnotherDevice(within: patience)
    case .browser:
      let receiver: LoopbackReceiver
      do throws(RedirectError) {
        receiver = try await LoopbackReceiver.listen { page in
          // Always: the browser that opens may be on another screen, or none at all.
          Terminal.say("open \(page)")
          if opening { Browser.open(page) }
        }
      } catch { throw error.sessionError }
      let limit = Task {
        try await Task.sleep(for: patience ?? .seconds(300))
        Terminal.say("nobody answered in time")
        await receiver.close()
      }
      defer { limit.cancel() }
      do throws(SessionError) {
        let grant = try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
        await receiver.close()
        return grant
      } catch {
        await receiver.close()
        throw error
      }
    }
  }

  private func onAnotherDevice(within patience: Duration?) async throws(SessionError) -> Grant {
    let asking = Task { () -> Result<Grant, SessionError> in
      do throws(SessionError) {
        return .success(
          try await backend.signInOnAnotherDevice { code in
            Terminal.say("open \(code.address) on any device and type: \(code.userCode)")
            if let address = code.completeAddress { Terminal.say("or open \(address)") }
          })
      } catch { return .failure(error) }
    }
    let limit = Task {
      guard let patience else { return }
      try await Task.sleep(for: patience)
      Terminal.say("nobody answered in time")
      asking.cancel()
    }
    defer { limit.cancel() }
    return try await asking.value.get()
  }
}

/// The person's browser.
enum Browser {
  /// Whether one can be shown here.
  static var isLikely: Bool {
    let environment = ProcessInfo.processInfo.environment
    if environment["BROWSER"]?.isEmpty == false { return true }
    #if os(macOS)
    return environment["SSH_CONNECTION"] == nil
    #else
    return (environment["DISPLAY"] ?? environment["WAYLAND_DISPLAY"])?.isEmpty == false
    #endif
  }

  /// Starts it, and does not wait. The address stands in the arguments, where others may read it: it holds no secret.
  static func open(_ page: String) {
    let process = Process()
    if let named = ProcessInfo.processInfo.environment["BROWSER"], !named.isEmpty {
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [named, page]
    } else {
      #if os(macOS)
      process.executableURL = URL(fileURLWithPath: "/usr/bin/open")
      process.arguments = [page]
      #else
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["xdg-open", page]
      #endif
    }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    do { try process.run() } catch { Terminal.say("no browser could be started") }
  }
}
#endif
