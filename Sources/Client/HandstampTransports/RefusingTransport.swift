package import HandstampCore

/// Refuses all requests, where settings of the network could not be kept: a request that ignored them would be a surprise.
package struct RefusingTransport: Transport {
  private let refusal: TransportError

  package init(_ refusal: TransportError) { self.refusal = refusal }

  @concurrent package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    throw refusal
  }

  @concurrent package func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw refusal
  }
}
