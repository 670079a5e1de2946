import HandstampSupport

extension Transport {
  @concurrent public func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    throw .invalidRequest("this transport sends no files")
  }

  @concurrent public func download(
    _ request: TransportRequest, toFile path: String
  ) async throws(TransportError) -> TransportResponse {
    let stream = try await open(request)
    let body = try await withIdleLimit(request.timeout, throwing: TransportError.timedOut) {
      progress throws(TransportError) in
      try await stream.received(in: path, limit: request.maximumResponseSize, progress)
    }
    return TransportResponse(status: stream.status, headers: stream.headers, body: body)
  }
}

extension TransportStream {
  /// Writes the body to a file if the status is 2xx; returns it otherwise.
  @concurrent fileprivate func received(
    in path: String, limit: Int, _ progress: @Sendable () -> Void
  ) async throws(TransportError) -> [UInt8] {
    var bytes: [UInt8] = []
    do {
      let file = (200..<300).contains(status) ? try NewFile(path) : nil
      for try await chunk in body {
        progress()
        if let file {
          try file.append(chunk)
        } else {
          guard bytes.count + chunk.count <= limit else { throw TransportError.tooLarge }
          bytes += chunk
        }
      }
      // A reader that is cancelled sees an end of the body.
      if Task.isCancelled { throw TransportError.cancelled }
      return bytes
    } catch {
      throw TransportError(receiving: error)
    }
  }
}

extension TransportError {
  /// Why a body could not be received.
  package init(receiving error: any Error) {
    self =
      switch error {
      case let error as TransportError: error
      case let error as SystemError: .invalidRequest("the file cannot be written (\(error.reason))")
      default: .connectionLost("\(type(of: error))")
      }
  }
}
