package import HandstampCore
import HandstampSupport

/// The payload of a one-time token or an item: form-encoded, with its fields sorted by name.
package protocol StoredPayload {
  var fields: [String: String?] { get }
  init?(fields: [String: String])
}

/// The payload of an item that is replaced if it is still as it was read.
protocol ItemPayload: StoredPayload {
  /// That of the stored item.
  var revision: Int64 { get set }
}

extension ItemPayload {
  init?(_ item: StoredItem) {
    guard let payload = PayloadCoding.value(Self.self, item.payload) else { return nil }
    self = payload
    revision = item.revision
  }
}

package enum PayloadCoding {
  package static func text(_ payload: some StoredPayload) -> String { text(payload.fields.compactMapValues { $0 }) }

  static func text(_ fields: [String: String]) -> String {
    let fields = fields.sorted { $0.key < $1.key }
    return String(decoding: [UInt8](form: fields.map { ($0.key, Secret($0.value)) }), as: UTF8.self)
  }

  /// Returns `nil` if the text is not a valid payload, such as one that a newer version wrote.
  package static func value<Payload: StoredPayload>(_ type: Payload.Type, _ text: String) -> Payload? {
    fields(text).flatMap { Payload(fields: $0) }
  }

  static func fields(_ text: String) -> [String: String]? {
    var fields: [String: String] = [:]
    for part in text.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, let value = decoded(pair[1]) else { return nil }
      fields[String(pair[0])] = value
    }
    return fields
  }

  private static func decoded(_ text: Substring) -> String? {
    PercentEncoding.decode(text.utf8).flatMap { String(utf8Bytes: $0) }
  }
}

extension [String: String] {
  package func time(_ name: String) -> UnixTime? {
    self[name].flatMap { Int64($0) }.map { UnixTime(milliseconds: $0) }
  }
}
