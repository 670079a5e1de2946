import Foundation
import HandstampCore

/// Where the bodies of a call are: in memory, or in a file, of which only parts are in memory at a time.
enum Transfer: Sendable {
  case whole
  case upload(from: URL)
  /// The body of a response with a status of 2xx is written to the file; any other is in the response.
  case download(to: URL)

  var isUpload: Bool {
    if case .upload = self { true } else { false }
  }

  func send(
    _ request: TransportRequest, over transport: any Transport
  ) async throws(APIError) -> TransportResponse {
    do throws(TransportError) {
      switch self {
      case .whole: return try await transport.send(request)
      case .upload(let file): return try await transport.upload(request, fromFile: file.path)
      case .download(let file): return try await transport.download(request, toFile: file.path)
      }
    } catch {
      throw .network(error)
    }
  }
}
