public import Foundation
import HandstampCore
import HandstampSupport

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Requests of your own, in memory or from and to a file. Each gets the credential, is repeated once at most after a 401, and returns
/// the response, whatever its status. The URL has to be of the origin of ``baseURL``; otherwise, and for a body that is a stream,
/// ``APIError/invalidRequest(_:)`` is thrown, as for a GET with a body.
extension APIClient {
  /// Sends a request, and returns the response with its whole body, of at most 8 MiB.
  ///
  /// - Parameter request: sent unchanged, but for the credential. Its `timeoutInterval` limits the wait for the whole response.
  public func data(for request: URLRequest) async throws(APIError) -> (Data, HTTPURLResponse) {
    try await exchange(request, by: .whole)
  }

  /// Sends a request with this body, as ``data(for:)`` does.
  public func upload(for request: URLRequest, from body: Data) async throws(APIError) -> (Data, HTTPURLResponse) {
    var request = request
    request.httpBody = body
    return try await data(for: request)
  }

  /// Sends a request with the content of a file as its body. Only parts of it are in memory at a time; after a 401 it is read again.
  ///
  /// - Parameter request: its `timeoutInterval` limits the time without any progress.
  public func upload(for request: URLRequest, from file: URL) async throws(APIError) -> (Data, HTTPURLResponse) {
    var isFolder: ObjCBool = false
    guard file.isFileURL, FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder),
      !isFolder.boolValue, FileManager.default.isReadableFile(atPath: file.path)
    else { throw .invalidRequest("the file cannot be read") }
    var request = request
    request.httpBody = nil
    return try await exchange(request, by: .upload(from: file))
  }

  /// Sends a request, and writes the body of the response to a new file, of which only parts are in memory at a time.
  ///
  /// - Parameter request: its `timeoutInterval` limits the time without any progress.
  /// - Returns: a file in the folder for temporary files, which only its owner can read: move it, or remove it. It has the body
  ///   whatever the status is.
  public func download(for request: URLRequest) async throws(APIError) -> (URL, HTTPURLResponse) {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("download-\(UUID().uuidString)")
    do throws(APIError) {
      let (body, response) = try await exchange(request, by: .download(to: file))
      if !(200..<300).contains(response.statusCode) {
        do { try AtomicFile.replace(file.path, with: Array(body)) } catch {
          throw .unreadable("the file cannot be written")
        }
      }
      return (file, response)
    } catch {
      try? FileManager.default.removeItem(at: file)
      throw error
    }
  }

  private func exchange(
    _ request: URLRequest, by transfer: Transfer
  ) async throws(APIError) -> (Data, HTTPURLResponse) {
    let sent = try TransportRequest(request)
    if ["GET", "HEAD"].contains(sent.method), transfer.isUpload || !sent.body.isEmpty {
      throw .invalidRequest("a \(sent.method) has no body: set httpMethod")
    }
    let response = try await response(to: sent, requiresAuth: true, by: transfer)
    // `HTTPURLResponse` has one value for each name.
    let fields = Dictionary(response.headers.map { ($0.name, $0.value) }) { $0 + ", " + $1 }
    guard let url = request.url,
      let head = HTTPURLResponse(
        url: url, statusCode: response.status, httpVersion: "HTTP/1.1", headerFields: fields)
    else { throw .unreadable("not a valid response") }
    return (Data(response.body), head)
  }
}

extension TransportRequest {
  fileprivate init(_ request: URLRequest) throws(APIError) {
    guard let url = request.url else { throw .invalidRequest("no URL") }
    guard request.httpBodyStream == nil else { throw .invalidRequest("a stream cannot be sent again: upload a file") }
    let week: TimeInterval = 7 * 24 * 3600
    let limit = request.timeoutInterval
    self.init(
      method: request.httpMethod ?? "GET", url: url.absoluteString,
      headers: (request.allHTTPHeaderFields ?? [:]).map { HeaderField($0.key, $0.value) },
      body: request.httpBody.map { Array($0) } ?? [], timeout: .seconds(limit > 0 && limit < week ? limit : week))
  }
}
