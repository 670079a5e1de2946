#if Programs
import AsyncHTTPClient
import HandstampCore
import NIOCore
import NIOHTTP1

/// A device that refreshes continuously, each time with the token from the last response.
struct RefreshLane: Lane {
  let client: HTTPClient
  let url: String
  var token: RefreshToken

  mutating func step() async throws {
    var random = SystemRandomNumberGenerator()
    let key = RotationKey(from: &random).wireText
    let form = token.secret.withExposed { token in
      key.withExposed { "grant_type=refresh_token&refresh_token=\(token)&rotation_key=\($0)" }
    }
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
    request.body = .bytes(ByteBuffer(string: form))
    let response = try await client.execute(request, timeout: .seconds(20))
    let body = try await response.body.collect(upTo: 1 << 16)
    guard response.status == .ok else { throw BenchError("a refresh returned \(response.status.code)") }
    guard let successor = RefreshLane.successor(in: body), successor != token else {
      throw BenchError("a refresh returned no new token")
    }
    token = successor
  }

  /// Finds the refresh token without a JSON parser, so that the client's work does not distort the server's figures.
  private static func successor(in body: ByteBuffer) -> RefreshToken? {
    body.withUnsafeReadableBytes { bytes in
      let last = bytes.count - marker.count
      guard let found = (0...max(0, last)).first(where: { $0 <= last && bytes[$0...].starts(with: marker) }) else {
        return nil
      }
      return RefreshToken(Secret(bytes: bytes[(found + marker.count)...].prefix { $0 != UInt8(ascii: "\"") }))
    }
  }

  private static let marker = Array("\"refresh_token\":\"".utf8)
}
#endif
