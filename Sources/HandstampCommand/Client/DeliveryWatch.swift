#if Programs
import HandstampCore

/// A backend that tells when the server could not be told of an end: then there is no use in waiting any longer.
final class DeliveryWatch: Backend {
  private let base: any Backend
  private let (failures, failed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  init(_ base: any Backend) { self.base = base }

  var keepsRotationKeys: Bool { base.keepsRotationKeys }
  var authority: String? { base.authority }

  @concurrent func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> {
    await base.refresh(token, key: key)
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
