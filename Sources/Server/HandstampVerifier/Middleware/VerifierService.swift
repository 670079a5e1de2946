#if Verifier
public import ServiceLifecycle

/// Runs a verifier's feed beside a Hummingbird application: `Application(router: router, services: [VerifierService(verifier)])`.
public struct VerifierService: Service, CustomStringConvertible {
  private let verifier: TokenVerifier
  /// The name of the service in logs.
  public var description: String { "VerifierService" }

  public init(_ verifier: TokenVerifier) { self.verifier = verifier }

  public func run() async throws {
    await cancelWhenGracefulShutdown { await verifier.run() }
  }
}
#endif
