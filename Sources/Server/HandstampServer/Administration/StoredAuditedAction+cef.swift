#if Server
import HandstampCore
package import HandstampRegistry

extension StoredAuditedAction {
  /// The entry as a line of ArcSight's Common Event Format (CEF 0), without a newline. The address is `src`, or `c6a2` for IPv6;
  /// the account is `duid`, and who acted is `suser`.
  package var cefLine: [UInt8] {
    let header = ["CEF:0", "Handstamp", "server", "1", audited.action, audited.action, isWarning ? "7" : "3"]
    let address: [(String, String?)] =
      switch audited.address {
      case let text? where text.contains("/"): [("cs3Label", "network"), ("cs3", text)]
      case let text? where text.contains(":"): [("c6a2Label", "source address"), ("c6a2", text)]
      case let text: [("src", text)]
      }
    let session = audited.session.map { [("cs1Label", "session"), ("cs1", $0.rawValue)] } ?? []
    let fields: [(String, String?)] =
      [
        ("rt", String(audited.at.milliseconds)), ("externalId", String(id)), ("suser", audited.actor),
        ("duid", audited.account?.rawValue),
      ] + address + session + (audited.details == "{}" ? [] : [("cs2Label", "details"), ("cs2", audited.details)])
    let text = fields.compactMap { key, value in value.map { "\(key)=\($0.escaped(for: "="))" } }.joined(separator: " ")
    return Array((header.map { $0.escaped(for: "|") } + [text]).joined(separator: "|").utf8)
  }

  /// Whether an operator would want to look at it.
  var isWarning: Bool {
    switch AuditedAction.Kind(rawValue: audited.action) {
    case .theftDetected, .guessesStopped, .passkeyRefused, .takenBack, .restored: true
    default: false
    }
  }
}

extension String {
  /// By bytes: a joiner after a separator would make another character of it.
  fileprivate func escaped(for separator: String) -> String {
    var bytes: [UInt8] = []
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "\\"), separator.utf8.first: bytes += [UInt8(ascii: "\\"), byte]
      case 13: bytes += Array("\\r".utf8)
      case 10: bytes += Array("\\n".utf8)
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
#endif
