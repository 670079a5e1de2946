#if Programs
import HandstampCore

/// A backend that tells when the server could not be told of an end: then there is no use in waiting any longer; and what the
/// server answered to a refresh.
final class DeliveryWatch: Backend {
  private let base: any Backend
  private let (failures, failed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  private let settled: @Sendable (Result<Grant, RefreshFailure>, TokenEndpointAnswer?) async -> Void

  /// - Parameter settled: is told of every refresh, with the answer of the token endpoint; `nil`: none came.
  init(
    _ base: any Backend,
    settled: @escaping @Sendable (Result<Grant, RefreshFailure>, TokenEndpointAnswer?) async -> Void
  ) {
    self.base = base
    self.settled = settled
  }

  var keepsRotationKeys: Bool { base.keepsRotationKeys }
  var authority: String? { base.authority }

  @concurrent func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> {
    let witness = RefreshWitness()
    let result = await RefreshWitness.$current.withValue(witness) { await base.refresh(token, key: key) }
    await settled(result, witness.answer)
    return result
  }

  @concurrent func revoke(_ handle: RevocationHandle) async throws(SessionError) {
    do throws(SessionError) { try await base.revoke(handle) } catch {
      switch error {
      // The session takes down what the server answered, and there is nothing more to wait for.
      case .refused, .invalidAnswer: break
      default: failed.yield()
      }
      throw error
    }
  }

  /// Returns after the first failure, or when its task is cancelled.
  func failure() async {
    for await _ in failures { return }
  }
}
#endif
