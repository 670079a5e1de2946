import Foundation
import HandstampCore

/// The parameters of the URL that a browser was redirected to.
enum RedirectFields {
  /// Returns the parameters with these names.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)`` if the URL is not at `redirectURI`, or repeats one of them.
  static func fields(
    of callback: String, to redirectURI: String, naming names: Set<String>
  ) throws(SessionError) -> [String: String] {
    let place = place(callback)
    guard [redirectURI, redirectURI + "/"].contains(where: { self.place($0) == place }) else {
      throw .invalidResponse("the browser was redirected to another URL")
    }
    var fields: [String: String] = [:]
    for (name, value) in query(of: callback) where names.contains(name) {
      guard fields.updateValue(value, forKey: name) == nil else {
        throw .invalidResponse("the parameter \(name) of the response is duplicated")
      }
    }
    return fields
  }

  static func scheme(of address: String) -> String { String(address.prefix { $0 != ":" }) }

  /// The pairs of the query, which is a form (RFC 6749 section 4.1.2): a plus sign in it is a space.
  private static func query(of address: String) -> [(String, String)] {
    guard let mark = address.firstIndex(of: "?") else { return [] }
    let query = address[address.index(after: mark)...].prefix { $0 != "#" }
    return query.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
        let text = String(part).replacing("+", with: " ")
        return text.removingPercentEncoding ?? text
      }
      return (parts[0], parts.count > 1 ? parts[1] : "")
    }
  }

  /// Returns a URL without its query and fragment.
  private static func place(_ address: String) -> Substring { address.prefix { $0 != "?" && $0 != "#" } }
}
