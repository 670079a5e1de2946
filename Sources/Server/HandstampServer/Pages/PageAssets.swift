#if Server
import Crypto
import HandstampSupport
import Hummingbird
import NIOCore

/// The files that pages load. Their names change with their contents, so browsers keep them.
struct PageAssets: Sendable {
  private struct Asset: Sendable {
    var body: ByteBuffer
    var type: String
  }

  private var byName: [String: Asset] = [:]

  /// Adds a file, and returns its name.
  mutating func add(_ bytes: [UInt8], type: String, stem: String, suffix: String) -> String {
    let name = "\(stem)-\(Base64URL.encode(SHA256.hash(data: bytes).prefix(9))).\(suffix)"
    byName[name] = Asset(body: ByteBuffer(bytes: bytes), type: type)
    return name
  }

  func response(_ name: String) throws(ProblemError) -> Response {
    guard let asset = byName[name] else { throw .notFound }
    return Response(
      status: .ok,
      headers: [
        .contentType: asset.type, .cacheControl: "public, max-age=31536000, immutable",
        .xContentTypeOptions: "nosniff",
        .contentSecurityPolicy:
          "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; sandbox",
      ], body: .init(byteBuffer: asset.body))
  }
}
#endif
