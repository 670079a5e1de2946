#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTransports

/// Ada at a browser: signs in on our pages, allows every request, and is redirected back.
final class WebPerson: Sendable {
  private let cookies = Locked<[String: String]>([:])
  private let email: String

  init(email: String = "ada@example.org") { self.email = email }

  struct Lost: Error, CustomStringConvertible { var description: String }

  /// The server has too much to do, and asks to come again after a second.
  struct Busy: Error {}

  /// Opens a sign-in page and completes it, until it redirects to the app; follows that redirect, too.
  func visit(_ page: String) async throws {
    var answer = try await send("GET", page)
    for _ in 0..<6 {
      if let location = answer.header("Location") {
        answer = try await send("GET", location)
        if location.contains("code=") { return }
        continue
      }
      let text = String(decoding: answer.body, as: UTF8.self)
      let csrf = Self.field("csrf", in: text)
      answer = try await send(
        "POST", page, text.contains("name=\"password\"") ? signIn(csrf) : "csrf=\(csrf)&action=allow")
    }
    throw Lost(description: "the page leads nowhere")
  }

  /// Opens a sign-out page, confirms if it asks, and returns where the browser is sent.
  func signOut(at page: String) async throws -> String {
    var answer = try await send("GET", page)
    if answer.header("Location") == nil {
      let csrf = Self.field("csrf", in: String(decoding: answer.body, as: UTF8.self))
      answer = try await send("POST", page, "csrf=\(csrf)&action=sign-out")
    }
    guard let location = answer.header("Location") else { throw Lost(description: "the page did not sign out") }
    return location
  }

  /// Whether a page asks for the password.
  func isAsked(at page: String) async throws -> Bool {
    let answer = try await send("GET", page)
    return String(decoding: answer.body, as: UTF8.self).contains("name=\"password\"")
  }

  /// Enters a device's code.
  func allow(_ code: String, at address: String) async throws {
    var answer = try await send("GET", address)
    for action in ["sign-in", "look", "allow"] {
      let text = String(decoding: answer.body, as: UTF8.self)
      // Signed in already.
      if action == "sign-in", !text.contains("name=\"password\"") { continue }
      let csrf = Self.field("csrf", in: text)
      answer = try await send(
        "POST", address, action == "sign-in" ? signIn(csrf) : "csrf=\(csrf)&action=\(action)&user_code=\(code)")
      if let location = answer.header("Location") { answer = try await send("GET", location) }
    }
    guard String(decoding: answer.body, as: UTF8.self).contains("Your device is connected") else {
      throw Lost(description: "the device was not signed in")
    }
  }

  private func signIn(_ csrf: String) -> String {
    "csrf=\(csrf)&action=sign-in&email=\(email.replacing("@", with: "%40"))&password="
      + OwnServer.password.replacingOccurrences(of: " ", with: "+")
  }

  private static func field(_ name: String, in text: String) -> String {
    let parts = text.components(separatedBy: "name=\"\(name)\" value=\"")
    return parts.count > 1 ? String(parts[1].prefix { $0 != "\"" }) : ""
  }

  private func send(_ method: String, _ url: String, _ form: String? = nil) async throws -> TransportResponse {
    var request = TransportRequest(method: method, url: url)
    let jar = cookies.withLock { $0.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ") }
    if !jar.isEmpty { request.headers.append(HeaderField("Cookie", jar)) }
    if let form {
      request.headers.append(HeaderField("Content-Type", "application/x-www-form-urlencoded"))
      request.body = Array(form.utf8)
    }
    let answer = try await AsyncHTTPTransport.shared.send(request)
    guard answer.status != 503 else { throw Busy() }
    for cookie in answer.headers where cookie.name.lowercased() == "set-cookie" {
      let pair = cookie.value.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2 else { continue }
      cookies.withLock { $0[String(pair[0])] = cookie.value.contains("Max-Age=0") ? nil : String(pair[1]) }
    }
    return answer
  }
}
#endif
