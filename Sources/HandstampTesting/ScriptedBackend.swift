public import HandstampCore

/// A server that answers as a test says.
public final class ScriptedBackend: Backend {
  /// Answers the call with this number, from 1, for this pair.
  public typealias Script =
    @Sendable (_ call: Int, _ token: RefreshToken, _ key: RotationKey) async -> Result<Grant, SessionError>

  private struct Content: Sendable {
    var calls: [(token: RefreshToken, key: RotationKey)] = []
    var inTheAir = 0
    var mostInTheAir = 0
    var revoked: [RevocationHandle] = []
    var revocationError: SessionError?
  }
  private let content = Locked(Content())
  private let script: Script
  public let keepsRotationKeys: Bool

  public init(keepsRotationKeys: Bool = true, _ script: @escaping Script) {
    self.keepsRotationKeys = keepsRotationKeys
    self.script = script
  }

  /// The pairs that were sent, in order.
  public var calls: [(token: RefreshToken, key: RotationKey)] { content.withLock { $0.calls } }
  /// The most refreshes that were in the air at once.
  public var mostInTheAir: Int { content.withLock { $0.mostInTheAir } }
  /// The handles that were presented while revocation worked.
  public var revoked: [RevocationHandle] { content.withLock { $0.revoked } }

  /// What `revoke` throws from now on; nothing lets it work again.
  public func failRevocations(with error: SessionError?) { content.withLock { $0.revocationError = error } }

  @concurrent public func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, SessionError> {
    let call = content.withLock { content in
      content.calls.append((token, key))
      content.inTheAir += 1
      content.mostInTheAir = max(content.mostInTheAir, content.inTheAir)
      return content.calls.count
    }
    defer { content.withLock { $0.inTheAir -= 1 } }
    return await script(call, token, key)
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async throws(SessionError) {
    let error = content.withLock { content in
      if content.revocationError == nil { content.revoked.append(handle) }
      return content.revocationError
    }
    if let error { throw error }
  }
}

/// Something that tasks wait at until it is opened.
public final class Gate: Sendable {
  private struct Content: Sendable {
    var isOpen = false
    var arrived = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
    var watching: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }
  private let content = Locked(Content())

  public init() {}

  /// Waits until the gate is open; returns at once when it is.
  public func wait() async {
    await withCheckedContinuation { continuation in
      let ready = content.withLock { content in
        content.arrived += 1
        if !content.isOpen { content.waiting.append(continuation) }
        let arrived = content.arrived
        let ready = content.watching.filter { $0.count <= arrived }.map(\.continuation)
        content.watching.removeAll { $0.count <= arrived }
        return content.isOpen ? ready + [continuation] : ready
      }
      for continuation in ready { continuation.resume() }
    }
  }

  /// Waits until that many have come to the gate.
  public func arrivals(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = content.withLock { content in
        if content.arrived < count { content.watching.append((count, continuation)) }
        return content.arrived >= count
      }
      if isThere { continuation.resume() }
    }
  }

  /// Lets everybody through, now and later.
  public func open() {
    let waiting = content.withLock { content in
      content.isOpen = true
      defer { content.waiting = [] }
      return content.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
