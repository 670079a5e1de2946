#if Server
import ServiceLifecycle

/// A service whose name in logs is that of its type. Without a name, the logs of the life cycle would have its properties.
protocol NamedService: Service, CustomStringConvertible {}

extension NamedService {
  var description: String { "\(Self.self)" }
}
#endif
