public import Crypto
import Foundation
public import HandstampCore
import HandstampSupport

/// The key by which a client authenticates itself: it signs an assertion for each request, and sends no secret (`private_key_jwt`,
/// RFC 7523 section 2.2, OpenID Connect Core 1.0 section 9). The server has the public part.
public struct ClientKey: Sendable {
  /// The ID of the key at the server (`kid`); `nil` leaves it out, so that the server tries all of the client's keys.
  public let id: String?
  /// The `aud` of the assertions; `nil` (the default) is the server's token endpoint, or its issuer at a Handstamp server. Some servers
  /// accept only one of the two.
  public var audience: String?
  /// How long an assertion can be used. Most servers allow five minutes or more.
  static let life = Duration.seconds(60)

  private let algorithm: String
  /// Tells keys apart.
  private let mark: [UInt8]
  private let signing: @Sendable ([UInt8]) throws -> [UInt8]

  /// Creates a key from a key of swift-crypto or CryptoKit. The algorithm is ES256.
  public init(_ key: P256.Signing.PrivateKey, id: String? = nil) {
    self.id = id
    algorithm = "ES256"
    mark = Array(key.publicKey.rawRepresentation)
    signing = { Array(try key.signature(for: $0).rawRepresentation) }
  }

  /// Reads a key for P-256 in PEM, as `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` writes it.
  ///
  /// - Throws: ``SessionError/storage(_:)`` for any other text.
  public init(pem: Secret, id: String? = nil) throws(SessionError) {
    guard let key = pem.withExposed({ try? P256.Signing.PrivateKey(pemRepresentation: $0) }) else {
      throw .storage(.wrongKey("not a private key for P-256 in PEM"))
    }
    self.init(key, id: id)
  }

  /// Creates a key that is stored elsewhere, or is of another kind.
  ///
  /// - Parameters:
  ///   - algorithm: as in RFC 7518 section 3.1, such as `RS256`.
  ///   - sign: returns the signature of the message as that algorithm defines it. If it throws, requests fail.
  public init(
    id: String, algorithm: String, sign: @escaping @Sendable (_ message: [UInt8]) throws -> [UInt8]
  ) {
    self.id = id
    self.algorithm = algorithm
    mark = Array(algorithm.utf8)
    signing = sign
  }

  /// Returns the fields of a request that prove who the client is (RFC 7521 section 4.2).
  func fields(
    of client: String, at metadata: ServerMetadata, now: UnixTime
  ) throws(SessionError) -> [(name: String, value: Secret)] {
    var header = JSONText([("alg", algorithm), ("typ", "JWT")])
    header.add("kid", ifPresent: id)
    var claims = JSONText([("iss", client), ("sub", client)])
    claims.add("aud", audience ?? (metadata.isHandstamp ? metadata.issuer : metadata.tokenEndpoint))
    claims.add("jti", Base64URL.encode(randomBytes(16)))
    claims.add("iat", now.seconds)
    claims.add("exp", now.advanced(by: ClientKey.life).seconds)
    let signed = Base64URL.encode(header.finished) + "." + Base64URL.encode(claims.finished)
    guard let signature = try? signing(Array(signed.utf8)) else {
      throw .storage(.unavailable("the client's key cannot sign"))
    }
    return [
      ("client_id", Secret(client)),
      ("client_assertion_type", Secret("urn:ietf:params:oauth:client-assertion-type:jwt-bearer")),
      ("client_assertion", Secret(signed + "." + Base64URL.encode(signature))),
    ]
  }
}

extension ClientKey: Hashable {
  public static func == (one: ClientKey, other: ClientKey) -> Bool {
    one.id == other.id && one.audience == other.audience && one.mark == other.mark
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(mark)
  }
}

extension ClientKey: CustomStringConvertible, CustomReflectable {
  /// The algorithm only.
  public var description: String { "\(algorithm) client key" }
  public var customMirror: Mirror { Mirror(self, children: ["algorithm": algorithm]) }
}
