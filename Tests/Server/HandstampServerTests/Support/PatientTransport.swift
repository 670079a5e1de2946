#if Programs
import HandstampCore
import HandstampTransports

/// Gives other servers of this process minutes to answer: on a busy machine their seconds may be over before the request is read.
struct PatientTransport: Transport {
  private let base = AsyncHTTPTransport(connectTimeout: .seconds(240))

  private func patient(_ request: TransportRequest) -> TransportRequest {
    var request = request
    request.timeout = .seconds(240)
    return request
  }

  func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    try await base.send(patient(request))
  }
  func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(patient(request))
  }
  func shutdown() async { await base.shutdown() }
}
#endif
