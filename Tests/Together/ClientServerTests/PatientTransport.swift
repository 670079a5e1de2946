#if Programs
import HandstampCore

/// Waits minutes for a server that other tests may starve.
struct PatientTransport: Transport {
  let base: any Transport

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
}
#endif
