public import HandstampCore
import HandstampSupport

/// A form as a browser sends it.
public struct WebForm: Sendable, Hashable {
  /// The encoding of a form's body.
  public enum Encoding: Sendable, Hashable {
    /// `application/x-www-form-urlencoded`.
    case urlEncoded
    /// `multipart/form-data` (RFC 7578).
    case multipart
  }
  /// The charset of the page that the form is on.
  public enum Charset: Sendable, Hashable {
    case utf8
    case windows1252

    /// Returns `text` in this charset.
    public func encode(_ text: String) -> [UInt8] {
      switch self {
      case .utf8: Array(text.utf8)
      case .windows1252: Windows1252.encode(text)
      }
    }
  }

  /// One field of a form.
  public struct Field: Sendable, Hashable {
    public var name: String
    public var value: Secret

    public init(_ name: String, _ value: Secret) {
      self.name = name
      self.value = value
    }

    public init(_ name: String, _ value: String) { self.init(name, Secret(value)) }
  }

  /// The fields, in order.
  public var fields: [Field]
  /// The encoding of the body.
  public var encoding: Encoding
  /// The charset of the text in it.
  public var charset: Charset

  public init(_ fields: [Field], encoding: Encoding = .urlEncoded, charset: Charset = .utf8) {
    self.fields = fields
    self.encoding = encoding
    self.charset = charset
  }

  /// Returns a `POST` request to `url` with the form as its body.
  public func request(to url: String, timeout: Duration = .seconds(20)) -> TransportRequest {
    let (type, body): (String, [UInt8])
    switch encoding {
    case .urlEncoded: (type, body) = ("application/x-www-form-urlencoded", urlEncoded)
    case .multipart:
      let boundary = "handstamp-" + (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }.joined()
      (type, body) = ("multipart/form-data; boundary=\(boundary)", multipart(boundary))
    }
    return TransportRequest(
      method: "POST", url: url, headers: [HeaderField("Content-Type", type)], body: body, timeout: timeout)
  }

  /// WHATWG URL, application/x-www-form-urlencoded serializing.
  private var urlEncoded: [UInt8] {
    var body: [UInt8] = []
    for field in fields {
      if !body.isEmpty { body.append(38) }
      escape(charset.encode(field.name), into: &body)
      body.append(61)
      escape(field.value.withExposed { charset.encode($0) }, into: &body)
    }
    return body
  }

  private func escape(_ bytes: [UInt8], into body: inout [UInt8]) {
    for byte in bytes {
      switch byte {
      case 0x20: body.append(0x2B)
      case 0x2A, 0x2D, 0x2E, 0x5F: body.append(byte)
      case _ where byte.isAlphanumeric: body.append(byte)
      default: PercentEncoding.escape(byte, into: &body)
      }
    }
  }

  private func multipart(_ boundary: String) -> [UInt8] {
    var body: [UInt8] = []
    for field in fields {
      body += Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"".utf8)
      // WHATWG HTML, multipart/form-data: a name must not end its line or its quotes.
      for byte in charset.encode(field.name) {
        switch byte {
        case 10: body += Array("%0A".utf8)
        case 13: body += Array("%0D".utf8)
        case 34: body += Array("%22".utf8)
        default: body.append(byte)
        }
      }
      body += Array("\"\r\n\r\n".utf8)
      body += field.value.withExposed { charset.encode($0) }
      body += [13, 10]
    }
    return body + Array("--\(boundary)--\r\n".utf8)
  }
}
