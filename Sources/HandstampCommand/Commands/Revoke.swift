#if Programs
import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampRegistry

/// `handstamp revoke`.
struct Revoke: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "ends sessions: one, all others, or all",
    discussion: "handstamp sessions shows their ids")

  @Argument(help: "the session to end") var session: String?
  @Flag(help: "end all sessions but this one") var others = false
  @Flag(help: "end all sessions, this one as well") var all = false
  @OptionGroup var account: AccountOptions

  /// The same arguments, so that no id is taken for an option: one in 64 begins with a dash (base64url of 16 bytes).
  static func arranged(_ arguments: [String]) -> [String] {
    guard arguments.first == "revoke", !arguments.contains("--") else { return arguments }
    func isDashedID(_ word: String) -> Bool { word.hasPrefix("-") && SessionBytes(SessionID(word)) != nil }
    let ids = arguments.filter(isDashedID)
    return arguments.filter { !isDashedID($0) } + (ids.isEmpty ? [] : ["--"] + ids)
  }

  private struct Ended: Decodable { var ended: Int? }

  func perform() async throws {
    let caller = try await Caller.current(account)
    switch (session, others, all) {
    case (let id?, false, false): try await end(id, by: caller)
    case (nil, true, false):
      let count =
        try await caller.call(
          "POST", "/v1/sessions/end-others", as: Ended.self, for: "way to end sessions of other devices"
        ).ended ?? 0
      Terminal.say("ended \(count) other session(s)")
    case (nil, false, true):
      let count =
        try await caller.call("DELETE", "/v1/sessions", as: Ended.self, for: "way to end sessions of other devices")
        .ended ?? 0
      if case .session(let client) = caller { _ = await client.controller.signOut(reason: .revoked) }
      Terminal.say("ended \(count) session(s), this one among them")
    default:
      throw Refusal(
        .usage, "which session is to end is not clear", hint: "name one of: SESSION, --others, --all")
    }
  }

  private func end(_ id: String, by caller: Caller) async throws(Refusal) {
    // RFC 3986 section 2.3.
    let unreserved = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
    guard let path = id.addingPercentEncoding(withAllowedCharacters: unreserved), !path.isEmpty else {
      throw Refusal(.usage, "the id of the session is none", hint: "run: handstamp sessions")
    }
    _ = try await caller.call(
      "DELETE", "/v1/sessions/\(path)", as: Ended.self, for: "way to end sessions of other devices")
    if case .session(let client) = caller, case .signedIn(let facts) = client.controller.state,
      facts.session.rawValue == id
    {
      _ = await client.controller.signOut()
      Terminal.say("ended this session")
    } else {
      Terminal.say("ended session \(id)")
    }
  }
}
#endif
