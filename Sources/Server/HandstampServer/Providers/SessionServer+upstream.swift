#if Server
import HandstampCore
import HandstampRegistry
import Logging

extension SessionServer {
  /// Applies what the providers announce. OAuth providers without ID tokens announce nothing.
  var upstreamEnds: UpstreamEnds {
    var sources: [String: UpstreamEventSource] = [:]
    if let apple, let identityTokens {
      sources[AppleSignIn.provider] = UpstreamEventSource(apple, keys: identityTokens.keys)
    }
    for signIn in providers where signIn.provider.userInfo == nil {
      sources[signIn.provider.id] = UpstreamEventSource(
        signIn.provider, keys: signIn.endpoints.keys, receiver: configuration.issuer,
        named: configuration.issuerIdentifier)
    }
    return UpstreamEnds(sources: sources, registry: registry, recorder: recorder, clock: clock, metrics: metrics)
  }

  var upstreamPoller: UpstreamPoller {
    UpstreamPoller(
      ends: { [reloaded] in (reloaded.server ?? self).upstreamEnds }, transport: transport,
      logger: configuration.logger)
  }
}
#endif
