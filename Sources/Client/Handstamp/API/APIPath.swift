import HandstampSupport

/// The path of an API call, appended to the client's base URL.
///
/// A literal is percent-encoded as it stands, with its slashes. An interpolated value is one component, or a part of one, and is
/// escaped whole:
///
/// | path | with | is sent as |
/// |---|---|---|
/// | `"/v1/posts/\(id)"` | `7` | `/v1/posts/7` |
/// | `"/v1/posts/\(id)"` | `a/b?c` | `/v1/posts/a%2Fb%3Fc` |
/// | `"/v1/my files"` | | `/v1/my%20files` |
///
/// A call throws ``APIError/invalidRequest(_:)`` for a literal with a `?` or a `#`, since a query has a parameter of its own; for an
/// interpolated value that is empty; and for a component `.` or `..`, which would name another path (RFC 3986 section 5.2.4).
public struct APIPath: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// The parts of an interpolated string.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""
    fileprivate var problem: String?
    /// The bytes of a path that are not escaped (RFC 3986 section 3.3).
    private static let allowed = Set(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/".utf8)

    public init(literalCapacity: Int, interpolationCount: Int) {}

    public mutating func appendLiteral(_ literal: String) {
      if literal.contains("?") {
        problem = "a path with a question mark: use query"
      } else if literal.contains("#") {
        problem = "a path with a number sign: no server receives a fragment"
      }
      var bytes: [UInt8] = []
      for byte in literal.utf8 {
        if StringInterpolation.allowed.contains(byte) {
          bytes.append(byte)
        } else {
          PercentEncoding.escape(byte, into: &bytes)
        }
      }
      text += String(decoding: bytes, as: UTF8.self)
    }

    /// Appends a value, escaped, as a component of the path or a part of one.
    public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      if value.description.isEmpty { problem = "a path with an empty component" }
      text += PercentEncoding.encode(value.description)
    }
  }

  /// The path, percent-encoded.
  let text: String
  let problem: String?

  public init(stringInterpolation path: StringInterpolation) {
    let isRelative = path.text.split(separator: "/").contains { [".", ".."].contains($0) }
    text = path.text
    problem = path.problem ?? (isRelative ? "a path with a component . or .." : nil)
  }

  public init(stringLiteral path: String) { self.init(path) }

  /// Creates a path from a whole one that is not known before the program runs. It is treated as a literal.
  public init(_ path: String) {
    var literal = StringInterpolation(literalCapacity: path.count, interpolationCount: 0)
    literal.appendLiteral(path)
    self.init(stringInterpolation: literal)
  }
}
